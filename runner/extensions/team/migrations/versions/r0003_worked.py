"""What a worker needs to know of a build: the wish in words, and how long it was worked on."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float, Text

revision = "r0003"
down_revision = "r0002"


def upgrade() -> None:
    """Builds that are there were not worked on yet."""
    op.add_column("builds", Column("wish", Text, nullable=False, server_default=""))
    op.add_column("builds", Column("spent", Float(53), nullable=False, server_default="0"))
    op.add_column("builds", Column("claimed_at", Float(53), nullable=False, server_default="0"))


def downgrade() -> None:
    """A wish that waits is not asked again by an older runner."""
    for name in ("wish", "spent", "claimed_at"):
        op.drop_column("builds", name)
