"""Use the history of landed work: blame, revert, replay."""
