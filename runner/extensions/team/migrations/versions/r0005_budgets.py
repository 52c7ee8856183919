"""Budgets and limits of parallel builds, and the share of each claim."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Float, ForeignKey, Integer, Text

revision = "r0005"
down_revision = "r0004"


def upgrade() -> None:
    """Add budgets and claims; the costs of existing claims are unknown."""
    op.create_table(
        "budgets",
        Column("scope", Text, primary_key=True),
        Column("dollars", Float(53)),
        Column("period", Text, nullable=False),
        Column("share", Float(53), nullable=False),
        Column("at_once", Integer),
        Column("began", Float(53), nullable=False),
        Column("used", Float(53), nullable=False),
        Column("set", Text, nullable=False),
        Column("by", Text, nullable=False),
    )
    op.create_table(
        "claims",
        Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
        Column("token", BigInteger, primary_key=True),
        Column("repository", Text, nullable=False),
        Column("at", Float(53), nullable=False),
        Column("given", Float(53)),
        Column("spent", Float(53)),
    )
    op.create_index("claims_by_time", "claims", ["at"])


def downgrade() -> None:
    """Remove budgets and claims; an older runner has no limits."""
    op.drop_table("claims")
    op.drop_table("budgets")
