"""Implementers, which propose changes: one module each, and one line in `registry`."""
