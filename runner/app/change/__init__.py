"""Changes of what landed: what one may affect, and taking work back."""
