"""Held-out tests: tests that the implementer never sees."""
