"""Use cases that read: status, causes, events, statistics, doctor, validation."""
