"""The context that an implementer gets for a task."""
