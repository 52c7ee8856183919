"""What `runner init` writes: a plan that builds in seconds, an ownership map, a pattern index."""
