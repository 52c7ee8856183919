"""What alembic runs: the steps, on the connection that it was given, in its transaction."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(
    connection=given["connection"], version_table=given.get("version_table", "alembic_version")
)
context.run_migrations()
