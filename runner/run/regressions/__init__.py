"""Changes that break other tasks: trace, hold, release, land together."""
