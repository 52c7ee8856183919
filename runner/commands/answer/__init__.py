"""A person's word: on writes, plans, STALE tasks, held changes; and what they write themselves."""
