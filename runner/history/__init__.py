"""What was built, told line by line, taken back, restored and built again."""
