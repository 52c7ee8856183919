"""Whether a proof can fail: stub first, small changes of the task's functions, red first."""
