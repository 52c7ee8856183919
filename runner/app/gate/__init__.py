"""What a pull request may break, proven on what it is when it is merged."""
