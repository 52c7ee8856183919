"""The interface of a check: what it runs on, and its result."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from runner.gates.test_paths import find_named, is_named_support, is_test_of, is_test_path
from runner.lazy_module import lazy_module
from runner.model import Finding, Network, Proof, Severity, Verdict, digest_of
from runner.model.work import CUT_OFF
from runner.plan.shell.shell_commands import starts_no_program
from runner.process.base import Command, Ended
from runner.process.limits import Limits, apply_bounds
from runner.process.supervise import run
from runner.secrets.redact import redact
from runner.text.wording import abridge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.gates import missing_file_causes, sandbox_denials
    from runner.gates.junit import Reports, TestResults
    from runner.gates.proof_cache import ProofMemory
    from runner.gates.sandbox_denials import CommandBounds
    from runner.model import Change, Coverage, Level, Observed, Task
    from runner.process.base import Place, Ran, Sandbox
    from runner.writes import project_compile
else:
    missing_file_causes = lazy_module("runner.gates.missing_file_causes")
    sandbox_denials = lazy_module("runner.gates.sandbox_denials")
    project_compile = lazy_module("runner.writes.project_compile")


_LONGEST_TYPED = 300
"""Maximum length of a command that a person may retype."""
INTEGRITY = "integrity"
"""Kind of the runner's own checks for weakened tests."""
NOT_RUN = 126
"""Exit code of a check that is rejected before it runs."""
COVERAGE = "coverage"
MUTATION = "mutation"


class Check(Struct, frozen=True):
    """One command of a task's proof, before it runs."""

    id: str
    kind: str
    """`test`, `gate`, `contract`, `coverage`, or `integrity`."""
    command: str
    """Command to run; empty for a check that the runner performs itself."""
    limits: Limits
    level: Level | None = None
    network: Network = Network.NO
    fails: bool = False
    """Whether a test contract expects its command to fail."""
    named: bool = False
    """Whether its tools must name every test they run, if they don't by default."""
    task: str = ""
    """Other task that owns this test contract; empty for the task's own checks."""
    held_out: Task | None = None
    """Task whose held-out files its command runs; None for a visible contract."""


class Fitted(Struct, frozen=True):
    """A command as instruments fit it out: they count tests and lines from outside."""

    line: str
    variables: Mapping[str, str]
    """Environment variables in addition to those of the context."""


class Proved(Struct, frozen=True):
    """The result of one run of a check."""

    proof: Proof | None
    """None for a check that ran no command and has nothing to store."""
    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    observed: tuple[Observed, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    unshown: frozenset[str] = frozenset()
    """IDs of passed checks for which no evidence shows that they can fail."""
    failing: frozenset[str] = frozenset()
    """File and ID of each test that fails since the change; empty if not all are known."""


class LeftFiles(Protocol):
    """The effect of a command on the tree's files; `touched_files.TouchedFiles` is one."""

    @property
    def made(self) -> tuple[str, ...]:
        """Files that were not there before."""


class CheckResult(Protocol):
    """The result of a check, for later checks; `check_run.CheckRun` is one."""

    @property
    def ran(self) -> Ran:
        """Result of its command."""

    @property
    def proof(self) -> Proof:
        """Recorded proof of the check."""

    @property
    def results(self) -> TestResults | None:
        """Results of its tests; None if the tool did not report any."""

    @property
    def report(self) -> Reports:
        """Reports written by its test programs."""

    @property
    def touched(self) -> LeftFiles:
        """Files of the tree that it changed."""

    @property
    def unnamed(self) -> bool:
        """Whether a tool ran that names its tests only where it is asked to."""

    @property
    def passed(self) -> bool:
        """Whether the check may count as passed."""


class ChangeOrigin(Struct, frozen=True):
    """The author of a change, and its source."""

    reviewed: bool = True
    """Whether a person wrote the change or reviews it before it lands."""
    by_person: bool = False
    """Whether a person wrote the change themselves."""
    red_first: bool = False
    """Whether a test should fail without the implementation."""
    taken_back: tuple[Change, ...] = ()
    """Changes that revert the unlanded changes at the base."""
    revised: bool = False
    """Whether the specification changed since the task landed `former`."""

    @property
    def question(self) -> Severity:
        """Severity of a question; a warning if a person wrote the change."""
        return Severity.WARNING if self.by_person else Severity.QUESTION


class GateContext(Struct, frozen=True):
    """The context of a task's checks: their place and subject."""

    task: Task
    settings: Settings
    place: Place
    sandbox: Sandbox
    environment: Mapping[str, str]
    logs: Path
    """Folder with the output of each check."""
    logs_shown: str
    """The same folder as a person types it, relative to the repository."""
    tell: Callable[[str], None]
    cancelled: Event
    known_secrets: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    """The task's file changes, which the scratch tree contains."""
    before: Callable[[str], bytes | None] = lambda _path: None
    """Returns the bytes of a path at the base; None if it did not exist."""
    former: Mapping[str, bytes | None] = field(default_factory=dict)
    """Of what the task landed earlier and still stands at the base: by path what stands around
    its own lines; None for a file that it made and that has no lines of others."""
    tree: str = ""
    """Git tree of the proposal."""
    base: str = ""
    """Commit from which it was made; empty before the first commit."""
    on_base: Callable[[tuple[Change, ...]], AbstractContextManager[None]] | None = None
    """While entered, the scratch tree is the base with only these changes on it; None where there
    is no tree before (a proof of the real tree)."""
    kept: Path | None = None
    """Folder in the user's cache with results of earlier trees."""
    find_differing: Callable[[str], tuple[str, ...] | None] = lambda _tree: None
    """Returns paths in which the base differs from an earlier tree; None if unknown."""
    proofs: tuple[Proof, ...] = ()
    """Proofs of the previous checks."""
    origin: ChangeOrigin = field(default_factory=ChangeOrigin)
    observed: tuple[Observed, ...] = ()
    """Observations of the tests of previous checks."""
    refused: bool = False
    """Whether a previous check already rejects the change."""
    memory: ProofMemory | None = None
    """Checks that passed in this run, for reuse on the same tree."""
    may_wait: Callable[[], bool] = lambda: False
    """Whether a whole test suite may run later, on the merged tree of several tasks."""
    prove_held_out: Callable[[Check, GateContext], Proved | None] = lambda _check, _context: None
    """Proves a held-out contract whose files the tree lacks; None if the tree has them."""
    ran: dict[str, CheckResult] = field(default_factory=dict)
    """Result of each of the task's test contracts on the proposal, by ID."""
    _named: dict[str, frozenset[str]] = field(default_factory=dict)
    """By folder, the files loaded by test tool configurations there."""

    def after(self, path: str) -> bytes | None:
        """Return the proposed content of a path, or None if it does not exist."""
        for change in self.changes:
            if change.path == path:
                return change.content
        return self.before(path)

    def before_own_work(self, path: str) -> bytes | None:
        """Return a path's content at the base without the task's own earlier changes."""
        return self.former[path] if path in self.former else self.before(path)

    def is_test(self, path: str) -> bool:
        """Return whether a file belongs to tests, by its path or because a contract runs it."""
        if is_test_path(path):
            return True
        lines = [contract.command for contract in self.task.test_contracts]

        def read() -> bytes:
            return self.before(path) or self.after(path) or b""

        if is_test_of(path, read, lines):
            return True
        return is_named_support(path, read, self._find_named)

    def _find_named(self, folder: str) -> frozenset[str]:
        if folder not in self._named:
            self._named[folder] = frozenset(find_named(folder, self.before))
        return self._named[folder]

    def runs_no_program(self, check: Check) -> bool:
        """Return whether a check starts no measurable program, so coverage does not apply."""
        return starts_no_program(check.command, None if self.changes else self.before)

    def run(self, check: Check, fitted: Fitted | None = None) -> Ran:
        """Run one check in the scratch tree, as it stands or as instruments fitted it out."""
        command = Command(
            line=fitted.line if fitted else check.command,
            place=self.place,
            environment={**self.environment, **fitted.variables} if fitted else self.environment,
            network=check.network,
            limits=check.limits,
            log=self.logs / f"{file_name(check.id)}.log",
            known_secrets=self.known_secrets,
        )
        return run(command, self.sandbox, tell=self.tell, cancelled=self.cancelled)


def command_limits(task: Task, settings: Settings) -> Limits:
    """Return the timeouts and resource limits of a task's command."""
    own, hard = settings.limits, task.timeout or settings.limits.hard_seconds
    limits = Limits(soft=own.soft_seconds, idle=own.idle_seconds, hard=hard, queue=hard)
    return apply_bounds(limits, settings, task.uses)


def make_own_check(id_: str, task: Task, settings: Settings) -> Check:
    """Return a check that the runner does itself, without a command."""
    kind = id_ if id_ in (COVERAGE, MUTATION) else INTEGRITY
    return Check(id=id_, kind=kind, command="", limits=command_limits(task, settings))


def file_name(check_id: str) -> str:
    """Return a check's ID as a part of a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in check_id)


def proof_of(
    check: Check, ran: Ran, context: GateContext, counts: tuple[tuple[str, int], ...]
) -> Proof:
    """Create the proof of one run, passed or failed."""
    passed = ran.exit == 0 and ran.ended is Ended.EXITED
    return Proof(
        id=check.id,
        kind=check.kind,
        command=redact(check.command),
        verdict=Verdict.PASS if passed else Verdict.FAIL,
        exit=ran.exit,
        seconds=round(ran.seconds, 3),
        output=ran.output,
        level=check.level,
        counts=counts,
        log=f"{context.logs_shown}/{file_name(check.id)}.log" if ran.log else "",
        # by the runner, or by Ctrl-C, which reaches every process on this terminal
        note="" if passed or not context.cancelled.is_set() else CUT_OFF,
    )


def make_proof(
    check: Check,
    verdict: Verdict,
    note: str,
    *,
    code: int = 0,
    seconds: float = 0.0,
    output: bytes = b"",
    counts: tuple[tuple[str, int], ...] = (),
) -> Proof:
    """Return the proof of a check for which no command ran; `output` is what its digest is of."""
    return Proof(
        id=check.id,
        kind=check.kind,
        command=redact(check.command),
        verdict=verdict,
        exit=code,
        seconds=round(seconds, 3),
        output=digest_of(output),
        counts=counts,
        note=note,
    )


def failures_of(
    check: Check, ran: Ran, proof: Proof, context: GateContext | None = None
) -> tuple[Finding, ...]:
    """Return why a check failed, with the end of its output; empty if it passed.

    With the context where it ran, the hint names what of the sandbox or the limits held it.
    """
    if proof.verdict is not Verdict.FAIL:
        return ()
    return (
        Finding(
            check=check.id,
            message=_how_it_ended(check, ran),
            hint=_hint(check, ran, context),
            detail=ran.tail or "(no output)",
        ),
    )


def _hint(check: Check, ran: Ran, context: GateContext | None) -> str:
    match ran.ended:
        # A gate may be silent for as long as it may run (`commands` sets one limit for both).
        case Ended.IDLE if check.kind != "gate":
            return "have the command print progress, or raise limits.idle_seconds in the settings"
        case Ended.IDLE | Ended.HARD:
            return f"raise the time limit: {_where_its_time_is(check, context)}"
        case _:
            held = (
                sandbox_denials.find_met_bound(ran.tail, ran.exit, _bounds(check, context))
                if context
                else ""
            )
            return held or (_name_cause(check, ran, context) if context else "")


def _name_cause(check: Check, ran: Ran, context: GateContext) -> str:
    """Return the cause with a remedy, else the command that reproduces the failure."""
    if absent := missing_file_causes.explain_absent(context.place, ran.tail, check.command):
        return f"{absent}, then: runner" if context.task.line else absent
    return _unbuilt(ran, context) or suggest_shell(check, context)


def suggest_shell(check: Check, context: GateContext) -> str:
    """Return the command that reproduces a check's failure; empty without a task."""
    task, line = context.task.id, check.command
    if not context.task.line:  # it stands in no plan: a suite, the gates of the whole
        return ""
    walls = {"auto": "", "none": "--no-sandbox "}
    settings = context.settings
    flags = walls.get(settings.sandbox.kind, f"--sandbox {settings.sandbox.kind} ")
    if settings.build.task_graph:
        flags += f"--task-graph {shlex.quote(settings.build.task_graph)} "
    plain = line.isprintable() and len(line) <= _LONGEST_TYPED and redact(line) == line
    named = shlex.quote(line) if plain else "" if check.task else check.id
    return f"to reproduce: runner shell {task} {flags}{f'-- {named}' if named else ''}".rstrip()


def _unbuilt(ran: Ran, context: GateContext) -> str:
    """Return that a package of the repository is not built in the scratch tree; else empty."""
    name = project_compile.find_unbuilt_package(context.place.tree, ran.tail)
    what = f"the package {name} of this repository is not built in the scratch tree"
    return f"{what}: have the command build it first" if name else ""


def _where_its_time_is(check: Check, context: GateContext | None) -> str:
    """Return the place of a check's timeout: its gate, else the task, else a setting."""
    if check.kind != "gate":
        return "Timeout in the task, or limits.hard_seconds in the settings"
    name = check.id.removeprefix("gate:")
    gates = (*context.task.gates, *context.settings.gates_for(context.task.type)) if context else ()
    if own := next((gate.seconds for gate in gates if gate.name == name), 0.0):
        return f"the gate {name} has its own limit of {own:g} s"
    # same as `seconds_for` of the settings
    setting = f"{name.casefold()}_seconds" if name.casefold() in ("types", "lint") else ""
    return f"Timeout in the task, or limits.{setting or 'gate_seconds'} in the settings"


def _bounds(check: Check, context: GateContext) -> CommandBounds:
    bounds = sandbox_denials.CommandBounds(
        command=check.command,
        network=check.network,
        asked=_network_of(check, context),
        gate=check.id.removeprefix("gate:") if check.kind == "gate" else "",
    )
    where = (context.place, context.sandbox, context.environment, context.settings)
    return sandbox_denials.add_place(bounds, *where, check.limits)


def _network_of(check: Check, context: GateContext) -> Network:
    """Return the network access that a check's gate or task requests."""
    if check.kind == "gate":
        gates = (*context.task.gates, *context.settings.gates_for(context.task.type))
        asked = {gate.name: gate.network for gate in reversed(gates)}
        return asked.get(check.id.removeprefix("gate:"), check.network)
    return check.network if check.task else max(check.network, context.task.network, key=_REACHES)


_REACHES = tuple(Network).index


def name_command(check: Check) -> str:
    """Return the command for a message: without secrets, and shortened."""
    return abridge(redact(check.command))


def _how_it_ended(check: Check, ran: Ran) -> str:
    command = name_command(check)
    match ran.ended:
        case Ended.EXITED:
            return f"`{command}` ended with exit code {ran.exit}"
        case Ended.IDLE:
            return f"`{command}` printed nothing for {check.limits.idle:g} s and was stopped"
        case Ended.HARD:
            return f"`{command}` ran longer than {check.limits.hard:g} s and was stopped"
        case Ended.CANCELLED:
            return f"`{command}` was cancelled"
        case _:
            return f"`{command}` could not be started"
