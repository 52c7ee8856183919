"""The proof of a proposal, and of the whole tree."""
