"""The doctor: what may be wrong with a database of ours, and how it is put right. The store itself needs none of it."""
