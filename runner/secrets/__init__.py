"""What looks like a credential: found before it is written, and taken out of what is shown."""
