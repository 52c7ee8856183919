"""Secrets: find them before a write, and redact them in output."""
