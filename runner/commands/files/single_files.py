"""What commands about single files share: standard input, what is unreadable, where output goes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.app.write.workplace import STANDARD_INPUT, display_path
from runner.writes.safe_io import explain_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from runner.app.write.workplace import Unreadable


def read_input(most: int) -> bytes:
    """At most so many bytes of standard input."""
    return sys.stdin.buffer.read(most)


def add_forms(parser: argparse.ArgumentParser) -> None:
    """`--json` or `--sarif`."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument(
        "--sarif",
        nargs="?",
        const=STANDARD_INPUT,
        metavar="OUT.sarif",
        help="a SARIF 2.1.0 log, to standard output or into this file",
    )


def tell_unreadable(found: Iterable[Unreadable]) -> None:
    """Say on standard error what could not be looked at."""
    for one in found:
        print(f"runner: {one.path}: {one.message}\nhint: {one.hint}", file=sys.stderr)


def output_and_files(option: str | None, files: list[str]) -> tuple[str | None, list[str]]:
    """`--sarif` takes a name that ends in .sarif; any other name after it is a file to look at.

    So `--sarif app.py` never writes over app.py.
    """
    if option is None or option == STANDARD_INPUT or option.endswith((".sarif", ".sarif.json")):
        return option, files
    return STANDARD_INPUT, [option, *files]


def write_output(text: str, target: str) -> None:
    """A document to standard output for `-`, else into a file, whole or not at all.

    Raises RunnerError where the file cannot be written.
    """
    if target == STANDARD_INPUT:
        sys.stdout.write(text)
        return
    with explain_errors(display_path(target)):
        effects.write_file(Path(target), text.encode())
