"""From a request in plain words to sections of a plan: draft, check, review, land."""
