"""Editor support for plans: pure functions, and the language server around them."""
