"""Landings: from a proven change to branch, work tree and plan; and drafts of failed ones."""
