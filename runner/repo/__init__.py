"""The repository: git facts, landings, and scratch trees."""
