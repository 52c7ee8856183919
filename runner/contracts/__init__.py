"""Contracts: what a task promises to others, tested against what it built."""
