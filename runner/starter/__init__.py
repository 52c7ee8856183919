"""The files of `runner init`: a plan that builds in seconds, an ownership map, a pattern index."""
