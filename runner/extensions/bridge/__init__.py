"""From an issue of a forge to a proven pull request: rounds, states as labels, a person's word."""
