"""From one schema of the store to another, by the steps in `migrations`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.team.store_engine import read_revision
from runner.team.tables import REVISION

if TYPE_CHECKING:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import Connection

    from runner.team.store_engine import Store
else:
    command = lazy_module("alembic.command")  # a package does not load its modules by itself

_STEPS = Path(__file__).parent / "migrations"
NOTHING = "base"


def _configure(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    # Alembic's Config is a ConfigParser, to which `%` begins an interpolation.
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def go_up(connection: Connection, revision: str = REVISION) -> None:
    """Bring the schema up, with what is in it, within the connection's transaction."""
    command.upgrade(_configure(connection), revision)


def go_down(connection: Connection, revision: str) -> None:
    """Bring the schema down; what the older one has no place for is gone."""
    command.downgrade(_configure(connection), revision)


def bring_up(store: Store) -> str:
    """Make the schema, or bring an older one up to this runner's; gives the one that was there.

    Raises RunnerError for a schema that this runner does not know.
    """
    before = read_revision(store)
    if before:
        require_known(before)
    with store.write() as connection:
        go_up(connection)
    return before


def require_known(revision: str) -> None:
    """Raise RunnerError for a schema that this runner has no step to."""
    if revision > REVISION or not any((_STEPS / "versions").glob(f"{revision}_*.py")):
        raise RunnerError(
            f"the schema {revision} is not known",
            hint="update the runner (`pip install -U task-graph-runner`)",
        )
