"""What is said to a person at a terminal, and read from there."""
