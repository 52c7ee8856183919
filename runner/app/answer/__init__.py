"""Use cases for a person's answers: list what waits, then approve, reject, edit or retry."""
