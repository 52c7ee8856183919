"""Reports: texts and documents for people and programs, built from values."""
