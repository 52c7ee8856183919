"""The first schema: repositories, the queue, events and tasks."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Float, ForeignKey, Integer, Text, text

revision = "r0001"
down_revision = None
_RUNNING = "state IN ('ANALYZING', 'PLANNING', 'EXECUTING', 'VERIFYING')"


def upgrade() -> None:
    """Create the schema in an empty store."""
    op.create_table(
        "repositories",
        Column("name", Text, primary_key=True),
        Column("url", Text, nullable=False),
        Column("branch", Text, nullable=False),
        Column("plan", Text, nullable=False),
        Column("credential", Text, nullable=False),
        Column("added", Text, nullable=False),
        Column("by", Text, nullable=False),
    )

    op.create_table(
        "builds",
        Column("id", Text, primary_key=True),
        Column("repository", Text, nullable=False),
        Column("url", Text, nullable=False),
        Column("credential", Text, nullable=False),
        Column("branch", Text, nullable=False),
        Column("base", Text, nullable=False),
        Column("plan", Text, nullable=False),
        Column("tasks", Text, nullable=False),
        Column("tags", Text, nullable=False),
        Column("spec", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("priority", Integer, nullable=False),
        Column("timeout", Float(53), nullable=False),
        Column("by", Text, nullable=False),
        Column("queued", Text, nullable=False),
        Column("worker", Text, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("lease_until", Float(53), nullable=False),
        Column("cancelled_by", Text, nullable=False),
        Column("head", Text, nullable=False),
        Column("note", Text, nullable=False),
    )
    op.create_index(
        "one_running",
        "builds",
        ["repository", "branch"],
        unique=True,
        sqlite_where=text(_RUNNING),
        postgresql_where=text(_RUNNING),
    )
    op.create_index(
        "to_claim",
        "builds",
        [text("priority DESC"), "id"],
        sqlite_where=text("state = 'PENDING'"),
        postgresql_where=text("state = 'PENDING'"),
    )
    op.create_index(
        "of_state",
        "builds",
        ["state", "lease_until"],
    )

    op.create_table(
        "build_tags",
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
        Column("tag", Text, primary_key=True),
    )

    op.create_table(
        "events",
        Column("journal", Text, primary_key=True),
        Column("seq", BigInteger, primary_key=True),
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), nullable=False),
        Column("id", Text, nullable=False),
        Column("time", Text, nullable=False),
        Column("type", Text, nullable=False),
        Column("run", Text, nullable=False),
        Column("task", Text, nullable=False),
        Column("causation", Text, nullable=False),
        Column("correlation", Text, nullable=False),
        Column("producer", Text, nullable=False),
        Column("version", Integer, nullable=False),
        Column("tags", Text, nullable=False),
        Column("line", Text, nullable=False),
    )
    op.create_index(
        "events_of_build",
        "events",
        ["build", "journal", "seq"],
    )

    op.create_table(
        "tasks",
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
        Column("task", Text, primary_key=True),
        Column("status", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("commit", Text, nullable=False),
    )


def downgrade() -> None:
    """Drop all tables."""
    for table in ("tasks", "events", "build_tags", "builds", "repositories"):
        op.drop_table(table)
