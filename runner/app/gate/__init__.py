"""The pull-request gate: test what a pull request may break, on its merge result."""
