"""Programming languages: one folder each, with everything that depends on the language."""
