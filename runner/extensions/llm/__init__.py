"""A language model as implementer: one loop of tools serves the first attempt and every repair."""
