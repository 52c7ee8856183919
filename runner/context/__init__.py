"""What an implementer is told about a task."""
