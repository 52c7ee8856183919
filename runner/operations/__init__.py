"""The table of operations: what the product can do, and what each surface makes of it."""
