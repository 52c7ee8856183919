"""The page: show and answer a plan in a browser, for one person on one machine."""
