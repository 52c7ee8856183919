"""Building: a run from its command line to its summary, and what stands around it."""
