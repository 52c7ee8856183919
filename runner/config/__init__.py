"""What the person, the repository and the environment have set."""
