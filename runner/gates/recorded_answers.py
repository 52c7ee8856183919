"""What tests expect, recorded in a file by the same change as the code: nobody said it.

A snapshot or a golden file holds what came out, right or wrong. Written beside the code that it is
about, it proves that the code does what it does. A family of the registry; it runs no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.languages.registry import code_row
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Change, Task

CHECK = "recorded-answers"
_RECORD = regex(
    r"(?:\A|/)__(?:snapshots|image_snapshots)__/|\.(?:snap|ambr|golden|approved(?:\.\w+)?)\Z"
    r"|(?:\A|[/_.-])(?:goldens?|snapshots?|baselines?|recorded|expected)(?=[/_.-])[^\n]*\.\w+\Z",
    re.IGNORECASE,
)
"""What tools, and people, call what they record."""
_MOST = 5


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write records."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each record that a change writes beside code: a warning, with `strict` a question.

    Nothing of what a person wrote, and nothing where the change has no code of the product.
    """
    code = any(
        one.content is not None and code_row(one.path) and not bench.is_test(one.path)
        for one in bench.changes
    )
    if bench.by_person or not code:
        return Proved(None, ())
    asks = bench.settings.mutation == "strict"
    severity = Severity.QUESTION if asks else Severity.WARNING
    found = [_finding(one, severity) for one in _records(bench)]
    return Proved(None, tuple(found[:_MOST]))


def _records(bench: GateContext) -> Iterator[Change]:
    for one in bench.changes:
        if one.content is None or code_row(one.path) or not _RECORD.search(one.path):
            continue
        if bench.is_test(one.path) or _is_read(one.path, bench):
            yield one


def _is_read(path: str, bench: GateContext) -> bool:
    """Whether a test of the change names the file."""
    name = path.rpartition("/")[2].encode()
    return any(name in (one.content or b"") for one in bench.changes if bench.is_test(one.path))


def _finding(one: Change, severity: Severity) -> Finding:
    return Finding(
        check=INTEGRITY,
        message="what its tests expect is recorded here, by the change that wrote the code",
        path=one.path,
        severity=severity,
        hint="read it as you would code, or have a test say what must come out",
    )
