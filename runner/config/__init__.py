"""Settings of the person, the repository and the environment."""
