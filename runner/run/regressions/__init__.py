"""Changes that break other tasks: traced, held back, released, landed together."""
