"""A build's request in words, and its working time, for the workers."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float, Text

revision = "r0003"
down_revision = "r0002"


def upgrade() -> None:
    """Add request and work time; existing builds have none."""
    op.add_column("builds", Column("wish", Text, nullable=False, server_default=""))
    op.add_column("builds", Column("spent", Float(53), nullable=False, server_default="0"))
    op.add_column("builds", Column("claimed_at", Float(53), nullable=False, server_default="0"))


def downgrade() -> None:
    """Remove request and work time; an older runner does not process waiting requests."""
    for name in ("wish", "spent", "claimed_at"):
        op.drop_column("builds", name)
