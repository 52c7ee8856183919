"""What a person reads of the mutants of a function that no test noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Finding, Severity
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext
    from runner.gates.mutation.mutants import Mutant, Subject
    from runner.gates.mutation.weighing import Weighing

HINT = "have a test say what it must return or change, and fail otherwise"
_LONGEST = 120


def make_finding(
    check: Check,
    subject: Subject,
    weighing: Weighing,
    bench: GateContext,
    severity: Severity,
    message: str = "",
) -> Finding:
    """What is said of a function of which mutants passed, each of them shown."""
    survivors = weighing.survivors
    kinds = ", ".join(one.kind for one in survivors)
    content = bench.after(subject.path) or b""
    return Finding(
        check=check.id,
        message=message
        or f"no test notices what {subject.name} does: "
        f"{len(survivors)} mutants of it passed every test that runs it ({kinds})"
        f"{_crashes(weighing)}",
        path=subject.path,
        line=subject.line,
        severity=severity,
        hint=HINT,
        detail="\n".join(line for one in survivors for line in format_mutant(one, content)),
    )


def _crashes(weighing: Weighing) -> str:
    many = sum(map(len, weighing.crashed.values()))
    return f", and {many} only crashed or did not end" if many else ""


def format_mutant(mutant: Mutant, content: bytes) -> Iterator[str]:
    """The line as it is, and with the mutant in it."""
    yield f"line {mutant.line}, {mutant.kind}:"
    for sign, text in (("-", content), ("+", mutant.apply_to(content))):
        line = text.split(b"\n")[mutant.line - 1].decode("utf-8", "replace").strip()
        short = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
        yield f"  {sign} {redact(short)}"
