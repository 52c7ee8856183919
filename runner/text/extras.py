"""The optional parts of an installation: which one has a module, and what installs it."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = lazy_module("importlib.metadata")  # with all that reads e-mail

_DISTRIBUTION = "task-graph-runner"
_NAME = regex(r"[\w.-]+")
_EXTRA = regex(r"""extra\s*==\s*["']([\w-]+)["']""")
_OF_DEVELOPERS = frozenset({"dev", "docs", "release"})


def install_hint(extra: str) -> str:
    """The command that adds an extra to this very installation.

    A bare `pip` is whichever comes first on PATH: the environment of the project as a rule, and of
    `pipx` none. Nobody is sent there to fetch a name that his index may give to somebody else.
    """
    pip = which("pip")
    is_ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    ask = "pip" if is_ours else f"{sys.executable} -m pip"
    return f"{ask} install '{_DISTRIBUTION}[{extra}]'"


def refusal_of_import(error: ImportError) -> RunnerError | None:
    """The error for a module that an extra brings and nobody installed; None for a bug."""
    module = (error.name or "").partition(".")[0]
    extra = _find_extra(module) if module else ""
    if not extra:
        return None
    said = f"this needs {module}, which is not installed"
    return RunnerError(said, hint=install_hint(extra))


def _find_extra(module: str) -> str:
    """Of what the distribution says it requires; distributions are named as their modules are."""
    try:
        wanted = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return ""
    for line in wanted:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is None or extra is None or extra[1] in _OF_DEVELOPERS:
            continue
        given = name[0].lower().replace("-", "_")
        if given == module or given.startswith(f"{module}_"):
            return extra[1]
    return ""
