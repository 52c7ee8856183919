"""The bridge: from an issue of a forge to a proven pull request."""
