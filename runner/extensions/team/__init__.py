"""Team builds: the shared store, its queue, and the workers."""
