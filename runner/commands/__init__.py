"""What a person types: one module a family, imported when it is called."""
