"""Run the examples that a plan gives in ```` ```python examples ```` blocks.

A family of the registry. The blocks of a task are one doctest session in the sandbox of its proof.
An example that gives a different result refuses; one that states no answer is not checked.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.gates.base import Proved, proof_of
from runner.gates.contract_checks import make_context
from runner.model import Finding, Severity, Verdict
from runner.plan.proofs import find_examples
from runner.process.tools import find_project_python
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext

_MOST = 8
_SHOWN = 120


class _Row(NamedTuple):
    """The result of one example."""

    line: int
    word: str
    source: str
    got: str


def prove(check: Check, context: GateContext) -> Proved:
    """Run the examples, and return a finding for each that gives a different result."""
    text = find_examples(context.task)
    python = find_project_python(context.place, context.environment)
    if python is None:
        return Proved(None, (_not_run(check, "no Python found"),))
    place = make_context(check, context)
    hook = (Path(__file__).parent / "examples_hook.py").read_bytes()
    words = (place.put("run.py", hook), place.put("examples.txt", text.encode()))
    line = shlex.join([str(python), "-B", *words, place.path("answers.json")])
    run = replace(check, command=line)
    ran = replace(context, tell=lambda _line: None).run(run)
    rows = [*_read_rows(place.read("answers.json"))]
    if not rows:
        why = ran.tail.strip().splitlines()[-1] if ran.tail.strip() else f"exit code {ran.exit}"
        return Proved(None, (_not_run(check, why),))
    failed = [one for one in rows if one.word == "failed"]
    unchecked = [one for one in rows if one.word == "not checked"]
    counts = {word: sum(one.word == word for one in rows) for word in ("passed", "failed")}
    verdict = Verdict.FAIL if failed else Verdict.PASS
    proof = replace(
        proof_of(run, ran, context, tuple(counts.items())),
        command="",
        verdict=verdict,
        note=f"{plural(counts['passed'], 'example')} checked, {len(unchecked)} not checked",
    )
    return Proved(proof, tuple(_describe(one, check) for one in (*failed, *unchecked)[:_MOST]))


def _read_rows(answers: object) -> Iterator[_Row]:
    """Read the rows of the hook; the code of the project may have written to the same file."""
    for one in answers if isinstance(answers, list) else ():
        match one:
            case [int(line), "passed" | "failed" | "not checked" as word, str(source), str(got)]:
                yield _Row(line, word, source, got)


def _describe(one: _Row, check: Check) -> Finding:
    shown = display(redact(one.source.splitlines()[0][:_SHOWN])) if one.source else "an example"
    if one.word == "failed":
        return Finding(
            check=check.id,
            message=f"the plan's example `{shown}` gives a different result",
            hint="make the code return the result in the plan, or correct the example",
            detail=redact(one.got[:2000]) or "(nothing)",
        )
    return Finding(
        check=check.id,
        message=f"the plan's example `{shown}` is not checked: it has no expected result",
        severity=Severity.NOTE,
    )


def _not_run(check: Check, why: str) -> Finding:
    return Finding(
        check=check.id,
        message=f"the plan's examples could not run: {display(redact(why[:_SHOWN]))}",
        severity=Severity.ERROR,
        hint="check that each example is valid Python after `>>>` and that its imports exist",
    )
