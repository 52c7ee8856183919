"""Find the tasks and test contracts that a change may affect, and why, without running them."""
