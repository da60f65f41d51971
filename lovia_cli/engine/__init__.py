"""The engine: one async loop that asks a model, runs its tools, and saves every step."""
