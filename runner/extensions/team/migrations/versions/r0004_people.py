"""People, roles and tokens, and the work of a build that people may see."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, Text

revision = "r0004"
down_revision = "r0003"


def upgrade() -> None:
    """Add people and tokens; existing answers came from a terminal."""
    op.add_column("answers", Column("via", Text, nullable=False, server_default="terminal"))
    op.add_column("answers", Column("seen", Text, nullable=False, server_default=""))
    op.create_table(
        "shown",
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
        Column("item", Text, primary_key=True),
        Column("place", Integer, nullable=False),
        Column("seen", Text, nullable=False),
        Column("document", Text, nullable=False),
        Column("answered", Text, nullable=False),
    )
    op.create_table(
        "people",
        Column("name", Text, primary_key=True),
        Column("role", Text, nullable=False),
        Column("added", Text, nullable=False),
        Column("by", Text, nullable=False),
    )
    op.create_table(
        "tokens",
        Column("id", Text, primary_key=True),
        Column("person", Text, ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
        Column("digest", Text, nullable=False, unique=True),
        Column("label", Text, nullable=False),
        Column("made", Text, nullable=False),
        Column("by", Text, nullable=False),
        Column("ends", Text, nullable=False),
        Column("used", Text, nullable=False),
        Column("revoked", Text, nullable=False),
        Column("revoked_by", Text, nullable=False),
    )
    op.create_table(
        "acts",
        Column("id", Text, primary_key=True),
        Column("time", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("by", Text, nullable=False),
        Column("via", Text, nullable=False),
        Column("about", Text, nullable=False),
        Column("note", Text, nullable=False),
    )


def downgrade() -> None:
    """Remove people and tokens; waiting work is shown only on the host of its clone."""
    for table in ("acts", "tokens", "people", "shown"):
        op.drop_table(table)
    for name in ("via", "seen"):
        op.drop_column("answers", name)
