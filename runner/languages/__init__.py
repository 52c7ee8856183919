"""One folder a language: all that the house knows about it, as text and syntax alone."""
