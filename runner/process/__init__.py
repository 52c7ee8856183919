"""Subprocesses: start one, limit it, read its output, end its whole process tree."""
