"""The page: a plan seen and answered in a browser, for one person on one machine."""
