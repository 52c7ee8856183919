"""Use cases that change landed work: find the affected tasks, undo, replay."""
