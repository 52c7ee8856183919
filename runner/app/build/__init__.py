"""A run, from the plan to its record commit; what one would do, and what begins or ends it."""
