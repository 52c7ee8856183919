"""What commands may reach: an HTTP proxy in this process, and the way to it."""
