"""`runner --version`: print the version without loading anything else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner import __version__
from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the versions of the runner and of Python."""
    del environ
    python = ".".join(map(str, sys.version_info[:3]))
    if given.json:
        from runner.report.documents import document

        print(document("version", version=__version__, python=python), end="")
    else:
        print(f"runner {__version__} (Python {python})")
    return ExitCode.OK
