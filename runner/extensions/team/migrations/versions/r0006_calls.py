"""Limits of model calls for the team's builds, and the rate of each claim."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, Text

revision = "r0006"
down_revision = "r0005"


def upgrade() -> None:
    """Add limits of model calls; running claims have none."""
    op.add_column("budgets", Column("calls", Text, nullable=False, server_default=""))
    op.add_column("claims", Column("calls", Integer))


def downgrade() -> None:
    """Remove limits of model calls, and budgets that limit nothing else."""
    op.execute("DELETE FROM budgets WHERE dollars IS NULL AND at_once IS NULL")
    for table in ("budgets", "claims"):
        op.drop_column(table, "calls")
