"""The journal: every event as one line, and the state folded from them."""
