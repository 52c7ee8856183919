"""Foreign text made fit to be shown to a person."""
