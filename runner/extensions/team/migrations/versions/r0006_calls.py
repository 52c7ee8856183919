"""How often the team's builds may call models, and what rate each claim was given."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, Text

revision = "r0006"
down_revision = "r0005"


def upgrade() -> None:
    """No bound yet; claims that go on may call as often as they like."""
    op.add_column("budgets", Column("calls", Text, nullable=False, server_default=""))
    op.add_column("claims", Column("calls", Integer))


def downgrade() -> None:
    """An older runner bounds no calls; a bound of nothing else is none that it knows."""
    op.execute("DELETE FROM budgets WHERE dollars IS NULL AND at_once IS NULL")
    for table in ("budgets", "claims"):
        op.drop_column(table, "calls")
