"""Limits of attempts, classes of failures, and retries."""
