"""The alembic environment: run the steps on a given connection and transaction."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(
    connection=given["connection"], version_table=given.get("version_table", "alembic_version")
)
context.run_migrations()
