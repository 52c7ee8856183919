"""Tests that the implementer never sees: their files, their proof, what an attempt may know."""
