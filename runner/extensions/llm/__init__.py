"""A language model as implementer: one tool loop for the first attempt and every repair."""
