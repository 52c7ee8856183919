"""Network access of commands: an HTTP proxy in this process, and the route to it."""
