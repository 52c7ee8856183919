"""A team's builds: the store that many machines share, the queue in it, and who works it off."""
