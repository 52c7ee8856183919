"""Make foreign text safe to show."""
