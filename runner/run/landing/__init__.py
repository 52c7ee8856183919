"""Landing: from what passed to the branch, the real tree and the plan; and what did not pass."""
