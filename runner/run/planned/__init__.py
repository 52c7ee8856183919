"""Plan, then execute: sessions that plan, phases, and the dry run of a task."""
