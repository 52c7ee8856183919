"""Migrations of the store's schema by alembic; `store_upkeep` runs them."""
