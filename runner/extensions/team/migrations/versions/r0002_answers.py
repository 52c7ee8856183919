"""Answers of people to a build, and where its work waits for them."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Text

revision = "r0002"
down_revision = "r0001"
_NEW = ("host", "waits", "place")


def upgrade() -> None:
    """Add answers; existing builds wait for no answer and any host may take them."""
    for name in _NEW:
        op.add_column("builds", Column(name, Text, nullable=False, server_default=""))
    op.add_column("builds", Column("free_at", Float(53), nullable=False, server_default="0"))
    op.create_table(
        "answers",
        Column("id", Text, primary_key=True),
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), nullable=False),
        Column("word", Text, nullable=False),
        Column("task", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("by", Text, nullable=False),
        Column("given", Text, nullable=False),
        Column("taken", Text, nullable=False),
        Column("outcome", Text, nullable=False),
    )
    op.create_index(
        "answers_of_build",
        "answers",
        ["build", "taken"],
    )


def downgrade() -> None:
    """Remove answers; a build that waited for one is retried."""
    op.drop_table("answers")
    for name in (*_NEW, "free_at"):
        op.drop_column("builds", name)
