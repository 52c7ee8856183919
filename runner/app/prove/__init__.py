"""Proof: what DONE rests on, proven again, shipped."""
