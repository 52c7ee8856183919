"""The proof: test contracts and gates, run by the runner itself on the proposed code."""
