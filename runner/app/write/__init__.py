"""The write pipeline as separate commands."""
