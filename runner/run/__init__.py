"""The run: which task is next, one attempt at it, and what its outcome means."""
