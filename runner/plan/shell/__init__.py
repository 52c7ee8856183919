"""What a shell line says about itself: who tests in it, whose exit counts, what it selects."""
