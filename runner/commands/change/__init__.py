"""Changes: what one may affect, who owns what, and taking work back."""
