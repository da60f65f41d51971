"""Stores that live no longer than their object: for tests, and for conversations that nobody keeps.

They are also the shortest example of what a store is. What goes in is kept in its stored form, so that a run
cannot tell them from a store on disk, and what comes out is a copy (S4). They belong to one event loop at a time.
"""

from stores.memory.results import InMemoryResultStore
from stores.memory.runs import InMemoryCheckpointer
from stores.memory.sessions import InMemorySession

__all__ = ["InMemoryCheckpointer", "InMemoryResultStore", "InMemorySession"]
