"""What a person or a program reads of a run: texts and documents, made of values."""
