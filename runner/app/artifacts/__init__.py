"""Artifacts of runs: collect, list, store and fetch them."""
