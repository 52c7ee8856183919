"""Which store the commands of a team mean: by flag, by the person's own settings, or their own."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.config import paths, settings
    from runner.config.settings import Settings
    from runner.team import store_engine
    from runner.team.store_engine import Store
else:
    paths = lazy_module("runner.config.paths")
    settings = lazy_module("runner.config.settings")
    store_engine = lazy_module("runner.team.store_engine")


def add_store_flags(parser: argparse.ArgumentParser) -> None:
    """`--store` and `--json`."""
    parser.add_argument("--store", default="", metavar="URL", help="another store, or its path")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def address_of_store(given: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """The address of the store that is meant. Raises RunnerError."""
    said = given.store or read_settings(environ).store
    return store_engine.find_address(paths.Places.of(environ).state, said)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """What holds here, in a repository or outside. Raises RunnerError."""
    return settings.load_settings(Path.cwd(), environ, {}).settings


@contextmanager
def open_team(given: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[Store]:
    """The store that is meant, while entered. Raises RunnerError where it is not ready."""
    with store_engine.open_store(address_of_store(given, environ)) as store:
        yield store
