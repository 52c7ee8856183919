"""The commands: one module a family, imported when it is called."""
