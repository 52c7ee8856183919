"""The run: choose the next task, run an attempt, handle its outcome."""
