"""Read a shell line: its test programs, whether its failure counts, and its test selection."""
