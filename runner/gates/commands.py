"""Gates as checks: the project's commands and the task's own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.config.default_gates import is_declared, nothing_to_check
from runner.gates.base import Check, Proved
from runner.gates.check_run import try_or_stand
from runner.model import Finding, Proof, Verdict, digest_of
from runner.model.grades import is_document
from runner.model.work import UNREAD
from runner.plan.commands import shell_operator, swallows_failure
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.programs import program_of
from runner.process.limits import Limits, apply_bounds
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.check_run import CheckRun
    from runner.model import GateSpec, Task

_SHELL = "sh:"
_READS = {
    "ruff": re.compile(r"\.(?:pyi?|ipynb)\Z|(?:\A|/)(?:pyproject|\.?ruff)\.toml\Z|gitignore\Z"),
    "mypy": re.compile(r"\.pyi?\Z|\.toml\Z|(?:\A|/)(?:\.?mypy\.ini|setup\.cfg|py\.typed)\Z"),
    "go": re.compile(r"\.(?:go|s|c|h|cc|cpp|mod|sum|work|tmpl|gohtml|json)\Z|/testdata/|embed"),
}
"""What programs of default gates read; of others nobody knows."""
_NOT_RUN = 126


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """The project's gates for this type of task, then the task's own, which win by name.

    A milestone runs nothing: it is what it depends on.
    """
    if task.is_milestone:
        return ()
    own = {gate.name for gate in task.gates}
    projects = (gate for gate in settings.gates_for(task.type) if gate.name not in own)
    return tuple(_check(gate, task, settings) for gate in (*projects, *task.gates))


def _check(gate: GateSpec, task: Task, settings: Settings) -> Check:
    hard = gate.seconds or task.timeout or settings.seconds_for(gate)
    return Check(
        id=f"gate:{gate.name}",
        kind="gate",
        command=gate.command.removeprefix(_SHELL).strip(),
        network=settings.network_for(gate.network),
        limits=apply_bounds(Limits(soft=hard, idle=hard, hard=hard), settings, task.uses),
    )


def prove(check: Check, bench: GateContext) -> Proved:
    """Run one gate, against the tree before where it fails.

    A task that changes what the gate runs must pass it as it was, too.
    """
    if bypass := bypass_of(check.command):
        return make_refused_proof(check, f"skips checks (`{bypass}`)", f"take `{bypass}` out of it")
    if why := _why_not(check, bench):
        hint = f"say that it is one shell line, `sh: {redact(check.command)}`, or "
        return make_refused_proof(check, why, f"{hint}write several gates")
    if why := _explain_skip(check, bench):
        return _make_skipped_proof(check, why)
    trial = try_or_stand(check, bench)
    if _nothing_to_check(trial, bench):
        note = "there was nothing for it to check"
        skipped = replace(trial.proof, verdict=Verdict.SKIPPED, note=note)
        return Proved(skipped, trial.notes())
    if not trial.passed:
        from runner.gates import baseline

        return baseline.evaluate_failure(trial, bench)
    from runner.gates import previous_gate, script_targets

    refusals = previous_gate.findings(trial, bench)
    changed = () if refusals else script_targets.findings(check, bench)
    return Proved(trial.proof, (*refusals, *changed, *trial.notes()))


def _explain_skip(check: Check, bench: GateContext) -> str:
    """Why a gate that nobody configured need not run for a change; empty where it has to.

    Never where it is all that proves the task, and never for a task that changes nothing.
    """
    task, settings = bench.task, bench.settings
    proven = task.test_contracts or task.contracts or task.gates
    if not (proven and bench.changes and is_declared(task, settings, check.id, check.command)):
        return ""
    if bench.refused:
        return "what proves the task itself did not pass"
    paths = [change.path for change in bench.changes]
    if any(map(bench.is_test, paths)):
        return ""
    if all(map(is_document, paths)):
        return "only documents changed"
    reads = _READS.get(program_of(check.command.split()).name)
    if reads is not None and not any(map(reads.search, paths)):
        return "nothing that it reads changed"
    return ""


def _make_skipped_proof(check: Check, why: str) -> Proved:
    """A gate that is left out; it shows nothing, and says so."""
    return Proved(
        Proof(
            id=check.id,
            kind=check.kind,
            command=redact(check.command),
            verdict=Verdict.SKIPPED,
            exit=0,
            seconds=0.0,
            output=digest_of(b""),
            note=f"{UNREAD}{why}",
        )
    )


def _nothing_to_check(trial: CheckRun, bench: GateContext) -> bool:
    """Whether a gate that nobody configured failed for want of anything to look at."""
    ran, check = trial.ran, trial.check
    whole = ran.tail if ran.size == len(ran.tail.encode()) else ""
    task, settings = bench.task, bench.settings
    return not trial.passed and nothing_to_check(
        task, settings, check.id, check.command, ran.exit, whole
    )


def _why_not(check: Check, bench: GateContext) -> str:
    """How a gate could pass over a failure, where it does not say that it is a shell line."""
    specs = (*bench.settings.gates_for(bench.task.type), *bench.task.gates)
    said = {f"gate:{gate.name}": gate.command for gate in specs}
    if check.kind != "gate" or said.get(check.id, "").startswith(_SHELL):
        return ""
    if operator := shell_operator(check.command):
        return f"joins commands with `{operator}`"
    word = swallows_failure(check.command)
    return f"passes over what fails (`{word}`)" if word else ""


def make_refused_proof(check: Check, why: str, hint: str) -> Proved:
    """A check that is not run: it would say less than it seems to."""
    command = redact(check.command)
    finding = Finding(
        check=check.id,
        message=f"`{command}` {why}",
        hint=hint,
    )
    proof = Proof(
        id=check.id,
        kind=check.kind,
        command=command,
        verdict=Verdict.FAIL,
        exit=_NOT_RUN,
        seconds=0.0,
        output=digest_of(b""),
        note="not run",
    )
    return Proved(proof, (finding,))
