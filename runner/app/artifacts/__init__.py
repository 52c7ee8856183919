"""What runs leave: collected, looked through, stored once, listed and fetched."""
