"""Plan, then execute: planning sessions, phases, and the dry run of a task."""
