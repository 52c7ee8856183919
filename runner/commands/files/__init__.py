"""The write pipeline by hand: single files through one of its steps."""
