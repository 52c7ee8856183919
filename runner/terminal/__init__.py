"""What a person sees at a terminal, and types there."""
