"""What a check is, and what one run of it says."""

from __future__ import annotations

import shlex
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from runner.gates.test_paths import find_named, is_named_support, is_test_of, is_test_path
from runner.lazy_dataclass import dataclass
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
    from runner.gates import absent_files, failed_bounds
    from runner.gates.failed_bounds import CommandBounds
    from runner.gates.junit import Reports, TestResults
    from runner.gates.proof_cache import ProofMemory
    from runner.model import Change, Coverage, Level, Observed, Task
    from runner.process.base import Place, Ran, Sandbox
    from runner.writes import project_compile
else:
    absent_files = lazy_module("runner.gates.absent_files")
    failed_bounds = lazy_module("runner.gates.failed_bounds")
    project_compile = lazy_module("runner.writes.project_compile")


_LONGEST_TYPED = 300
"""Characters of a command that a person may type again."""
INTEGRITY = "integrity"
"""The kind of the runner's own checks of what a change takes away from tests."""
NOT_RUN = 126
"""The exit code of a check that is refused before it runs."""
COVERAGE = "coverage"
MUTATION = "mutation"


def _nothing(_path: str) -> bytes | None:
    """Before the first commit no path has bytes."""
    return None


def _unknown(_tree: str) -> None:
    """Without a scratch tree no other tree is known."""


def _never() -> bool:
    """Nobody lands together with what is proven alone."""
    return False


def _run_visible(_check: Check, _context: GateContext) -> None:
    """Without a store every contract is an ordinary test."""


@dataclass(frozen=True, slots=True)
class Check:
    """One command of a task's proof, before it runs."""

    id: str
    kind: str
    """`test`, `gate`, `contract`, `coverage`, or `integrity`."""
    command: str
    """What runs; empty for a check that the runner does itself."""
    limits: Limits
    level: Level | None = None
    network: Network = Network.NO
    fails: bool = False
    """Whether a test contract says that its command fails."""
    named: bool = False
    """Whether its tools are to name every test they run, where they do not by themselves."""
    task: str = ""
    """The other task whose test contract this is; empty for the task's own checks."""
    held_out: Task | None = None
    """The task whose held-out files its command runs; None for a visible contract."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A command as instruments fit it out: they count tests and lines from outside."""

    line: str
    variables: Mapping[str, str]
    """Environment variables beside those of the context."""


@dataclass(frozen=True, slots=True)
class Proved:
    """What one run of a check says."""

    proof: Proof | None
    """None for a check that ran no command and has nothing to keep."""
    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    observed: tuple[Observed, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    unshown: frozenset[str] = frozenset()
    """Checks that passed and of which nothing showed that they can fail, by id."""


class LeftFiles(Protocol):
    """What a command did to the files of the tree; `mtime_changes.TouchedFiles` is one."""

    @property
    def made(self) -> tuple[str, ...]:
        """Files that were not there before."""


class CheckResult(Protocol):
    """How a check ended, for those after it; `check_run.CheckRun` is one."""

    @property
    def ran(self) -> Ran:
        """How its command ended."""

    @property
    def proof(self) -> Proof:
        """What is kept of it."""

    @property
    def results(self) -> TestResults | None:
        """How each test ended; None where its tool did not say."""

    @property
    def report(self) -> Reports:
        """What its test programs wrote down."""

    @property
    def touched(self) -> LeftFiles:
        """What it did to files of the tree."""

    @property
    def unnamed(self) -> bool:
        """Whether a tool ran that names its tests only where it is asked to."""

    @property
    def passed(self) -> bool:
        """Whether the check may count as passed."""


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Who made a change, and from what."""

    reviewed: bool = True
    """Whether a person wrote the change, or will have seen it before it lands."""
    by_person: bool = False
    """Whether a person wrote the change themselves."""
    red_first: bool = False
    """Whether a test should fail on the tree without the implementation."""
    taken_back: tuple[Change, ...] = ()
    """What takes back the changes at the base that have not landed."""
    revised: bool = False
    """Whether what is to be built was changed since the task landed what `former` says."""

    @property
    def question(self) -> Severity:
        """How grave a question is: to a person who wrote the change, it is a warning."""
        return Severity.WARNING if self.by_person else Severity.QUESTION


@dataclass(frozen=True, slots=True)
class GateContext:
    """Where a task's checks run, and what they are about."""

    task: Task
    settings: Settings
    place: Place
    sandbox: Sandbox
    environment: Mapping[str, str]
    logs: Path
    """Folder that keeps the output of each check."""
    logs_shown: str
    """The same folder as a person would type it, relative to the repository."""
    tell: Callable[[str], None]
    cancelled: Event
    known_secrets: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    """What the task did to files, which the scratch tree holds."""
    before: Callable[[str], bytes | None] = _nothing
    """The bytes of a path at the base; None where it was not there."""
    former: Mapping[str, bytes | None] = field(default_factory=dict)
    """Of what the task landed earlier and still stands at the base: by path what stands around
    its own lines; None for a file that it made and that has no lines of others."""
    tree: str = ""
    """Git tree of the proposal."""
    base: str = ""
    """Commit it was made from; empty before the first commit."""
    on_base: Callable[[tuple[Change, ...]], AbstractContextManager[None]] | None = None
    """While entered, the scratch tree is the base with only these changes on it; None where there
    is no tree before (a proof of the real tree)."""
    kept: Path | None = None
    """Folder in the user's cache for what is known of earlier trees."""
    find_differing: Callable[[str], tuple[str, ...] | None] = _unknown
    """Paths in which the base differs from an earlier tree; None where that is not known."""
    proofs: tuple[Proof, ...] = ()
    """The proofs of the checks before this one."""
    origin: ChangeOrigin = field(default_factory=ChangeOrigin)
    observed: tuple[Observed, ...] = ()
    """What the tests of the checks before this one ran."""
    refused: bool = False
    """Whether a check before this one refuses already."""
    memory: ProofMemory | None = None
    """What passed in this run, for others that ask the same of the same tree."""
    may_wait: Callable[[], bool] = _never
    """Whether a whole test suite may run later, on the merged tree of several tasks."""
    prove_held_out: Callable[[Check, GateContext], Proved | None] = _run_visible
    """Proves a held-out contract whose files the tree lacks; None where the tree has them."""
    ran: dict[str, CheckResult] = field(default_factory=dict)
    """How each of the task's test contracts ended on the proposal, by its id."""
    _named: dict[str, frozenset[str]] = field(default_factory=dict)
    """By folder, the files that configurations of test tools there have loaded."""

    def after(self, path: str) -> bytes | None:
        """The bytes of a path as they are proposed; None where it is not there."""
        for change in self.changes:
            if change.path == path:
                return change.content
        return self.before(path)

    def before_own_work(self, path: str) -> bytes | None:
        """The bytes of a path at the base without what the task itself landed there earlier."""
        return self.former[path] if path in self.former else self.before(path)

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to tests: by its path, or since a test contract runs it."""
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
        """Whether nothing it starts can be measured; scripts are read where none is proposed."""
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
    """How long a command of this task may run, and how much it may use."""
    own, hard = settings.limits, task.timeout or settings.limits.hard_seconds
    limits = Limits(soft=own.soft_seconds, idle=own.idle_seconds, hard=hard, queue=hard)
    return apply_bounds(limits, settings, task.uses)


def make_own_check(id_: str, task: Task, settings: Settings) -> Check:
    """Return a check that the runner does itself, without a command."""
    kind = id_ if id_ in (COVERAGE, MUTATION) else INTEGRITY
    return Check(id=id_, kind=kind, command="", limits=command_limits(task, settings))


def file_name(check_id: str) -> str:
    """A check's id as part of a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in check_id)


def proof_of(
    check: Check, ran: Ran, context: GateContext, counts: tuple[tuple[str, int], ...]
) -> Proof:
    """What is kept of one run, whichever way it ended."""
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
        # by us, or by the key that everything on this terminal hears
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
    """Why a check failed, with the end of what it printed; nothing where it passed.

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
        # A gate may be silent for as long as it may run (`commands` gives it one bound for both).
        case Ended.IDLE if check.kind != "gate":
            return "have it print progress, or raise limits.idle_seconds in the settings"
        case Ended.IDLE | Ended.HARD:
            return f"raise its time limit: {_where_its_time_is(check, context)}"
        case _:
            held = (
                failed_bounds.find_met_bound(ran.tail, ran.exit, _bounds(check, context))
                if context
                else ""
            )
            return held or (_name_cause(check, ran, context) if context else "")


def _name_cause(check: Check, ran: Ran, context: GateContext) -> str:
    """What it lacked that the work tree has, and what to do; else how to see it fail."""
    if absent := absent_files.explain_absent(context.place, ran.tail, check.command):
        return f"{absent}, then: runner retry {context.task.id}" if context.task.line else absent
    return _unbuilt(ran, context) or suggest_shell(check, context)


def suggest_shell(check: Check, context: GateContext) -> str:
    """What a person types to see a check fail as it did; empty for what is no task's."""
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
    return f"see it fail: runner shell {task} {flags}{f'-- {named}' if named else ''}".rstrip()


def _unbuilt(ran: Ran, context: GateContext) -> str:
    """That a package was not compiled, which in the repository may lie there, ignored by git."""
    name = project_compile.find_unbuilt_package(context.place.tree, ran.tail)
    what = f"{name}, a package of this repository, is not built here"
    return f"{what}: have the command build it first" if name else ""


def _where_its_time_is(check: Check, context: GateContext | None) -> str:
    """What says how long a check may run: its gate, else the task, else a setting."""
    if check.kind != "gate":
        return "Timeout in the task, or limits.hard_seconds in the settings"
    name = check.id.removeprefix("gate:")
    gates = (*context.task.gates, *context.settings.gates_for(context.task.type)) if context else ()
    if own := next((gate.seconds for gate in gates if gate.name == name), 0.0):
        return f"the {own:g} s set for the gate"
    # as `seconds_for` of the settings has it
    setting = f"{name.casefold()}_seconds" if name.casefold() in ("types", "lint") else ""
    return f"Timeout in the task, or limits.{setting or 'gate_seconds'} in the settings"


def _bounds(check: Check, context: GateContext) -> CommandBounds:
    bounds = failed_bounds.CommandBounds(
        command=check.command,
        network=check.network,
        asked=_network_of(check, context),
        gate=check.id.removeprefix("gate:") if check.kind == "gate" else "",
    )
    where = (context.place, context.sandbox, context.environment, context.settings)
    return failed_bounds.add_place(bounds, *where, check.limits)


def _network_of(check: Check, context: GateContext) -> Network:
    """What a check's task or gate asks to reach; another task's is not known here."""
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
