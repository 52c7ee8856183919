"""Steps from each schema of the store to the next, by alembic; `schema_steps` goes them."""
