"""Commands of a team: the store, its repositories, the queue, the workers."""
