"""One module per migration; a released migration never changes."""
