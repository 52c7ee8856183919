"""Steps from each schema of the store to the next, by alembic; `store_upkeep` goes them."""
