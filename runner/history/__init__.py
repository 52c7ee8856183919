"""What was built: explain its lines, take it back, restore it and build it again."""
