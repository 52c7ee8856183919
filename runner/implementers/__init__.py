"""Those who propose changes; each is one module and one line in `registry`."""
