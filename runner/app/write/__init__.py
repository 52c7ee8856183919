"""The write pipeline by hand."""
