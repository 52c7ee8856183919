"""How tasks stand and why, what happened, what this machine and the settings offer."""
