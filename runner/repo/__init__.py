"""The repository: what git knows of it, what lands in it, and scratch trees beside it."""
