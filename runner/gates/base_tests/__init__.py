"""Base tests: run the tests of the base commit on the proposed code."""
