"""The journal: one line an event, and the state folded from them."""
