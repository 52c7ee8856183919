"""A person's word: what waits for one, and what it does."""
