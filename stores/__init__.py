"""Durable stores for runs and sessions: protocols, records, and one backend a package."""
