"""Prove all DONE tasks again on one tree: choose the commands, collect the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from runner.errors import ExitCode
from runner.gates.registry import FAMILIES, CheckFamily
from runner.model import Coverage, Network, Proof, Severity, Verdict
from runner.model.words import HELD_OUT_MISSING
from runner.model.work import UNREAD
from runner.run.permission_prompts import APPROVED, MORE
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from runner.config.settings import Settings
    from runner.gates.base import Check, Proved
    from runner.journal.task_state import TaskState
    from runner.model import Finding, Task

    Step: TypeAlias = "tuple[CheckFamily, Check]"

Key: TypeAlias = "tuple[str, str, Network]"
"""Identity of a check: its kind, its command and its network access."""
_SHARED = frozenset({"gate", "contract"})
"""Kinds of checks with the same result for every task."""
_OF_A_CHANGE = frozenset({"integrity", "mutation"})
"""Kinds of checks about how files changed, not about their content."""
_GOOD = frozenset({Verdict.PASS, Verdict.FLAKY, Verdict.SKIPPED, Verdict.KNOWN})


class Subject(Struct, frozen=True):
    """A task that is DONE, and what the journal knows of it."""

    task: Task
    known: TaskState


class CheckJob(Struct, frozen=True):
    """Checks that run one after the other in one scratch tree."""

    steps: tuple[tuple[Subject, tuple[Step, ...]], ...]
    owners: tuple[str, ...] = ()
    """All tasks of a shared command; empty if each step belongs to its own task."""


class Inspected(Struct, frozen=True):
    """The facts about one task on this tree."""

    task: str
    title: str
    proofs: tuple[Proof, ...] = ()
    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    tools: tuple[tuple[str, str], ...] = ()
    ran: bool = True
    """Whether any of its own checks ran; else all had already run on this tree."""
    stands_since: str = ""
    """Commit on which its own checks ran, if no later landing affects them."""
    to_answer_for: tuple[str, ...] = ()
    """Failed checks that are its own, or that it was the last to pass."""

    @property
    def passed(self) -> bool:
        """Whether nothing refuses."""
        return not any(finding.refuses for finding in self.findings) and all(
            proof.verdict in _GOOD for proof in self.proofs
        )

    @property
    def unrun(self) -> tuple[Finding, ...]:
        """Findings of held-out contracts without their files on this machine."""
        return tuple(one for one in self.findings if one.check == HELD_OUT_MISSING)

    @property
    def failing(self) -> tuple[str, ...]:
        """The checks that did not pass, each once."""
        bad = [proof.id for proof in self.proofs if proof.verdict not in _GOOD]
        refused = [finding.check for finding in self.findings if finding.refuses]
        return tuple(dict.fromkeys([*bad, *refused]))


class Verified(Struct, frozen=True):
    """The combined result of all checks on one tree."""

    head: str
    tasks: tuple[Inspected, ...]
    threshold: float
    """Minimum percent of the lines of all tasks that their tests must cover."""
    ran: int = 0
    """Number of commands that ran."""
    reused: int = 0
    """Number of tasks with a reused proof from an earlier tree."""
    seconds: float = 0.0

    @property
    def coverage(self) -> Coverage | None:
        """Of all that the tasks built, each task's own lines counted once for it."""
        found = [one.coverage for one in self.tasks if one.coverage]
        lines = sum(one.lines for one in found)
        if not lines:
            return None
        reached = sum(one.percent * one.lines for one in found) / lines
        return Coverage(int(reached * 100) / 100, lines, self.threshold)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Everything that is not as it should be, a line each."""
        lines = [f"{one.task}: {', '.join(one.failing)}" for one in self.tasks if not one.passed]
        whole = self.coverage
        if whole is not None and whole.percent < whole.threshold:
            lines.append(f"coverage of the project: {whole.shown} (threshold {whole.threshold:g}%)")
        return tuple(lines)

    @property
    def passed(self) -> bool:
        """Whether nothing falls short."""
        return not self.shortfalls

    @property
    def unrun(self) -> tuple[Finding, ...]:
        """Findings of held-out contracts that could not run."""
        return tuple(finding for one in self.tasks for finding in one.unrun)

    @property
    def code(self) -> ExitCode:
        """1 where something falls short, 3 where a contract could not run on this machine."""
        if not self.passed:
            return ExitCode.FAILED
        return ExitCode.PERSON if self.unrun else ExitCode.OK


class VerificationPlan(Struct, frozen=True):
    """The commands that a verification has to run, and those that it can skip."""

    subjects: tuple[Subject, ...]
    jobs: tuple[CheckJob, ...]
    remembered: Mapping[str, tuple[Proof, ...]] = field(default_factory=dict)
    """By task, the proofs that need not run again."""
    untouched: frozenset[str] = frozenset()
    """Tasks proven on an earlier tree that no later landing affects."""

    @property
    def commands(self) -> int:
        """Largest possible number of commands."""
        steps = (step for job in self.jobs for _, steps in job.steps for step in steps)
        return sum(bool(check.command) for _, check in steps)


# --- what has to run ------------------------------------------------------------------


def plan_for(
    subjects: Sequence[Subject],
    settings: Settings,
    is_this: Callable[[TaskState], bool] = lambda _known: False,
    untouched: Collection[str] = (),
) -> VerificationPlan:
    """Plan every check once, except those that passed on this tree according to `is_this`.

    Nor do the own checks of `untouched` tasks run again; gates do, since they look at the whole.
    Gates and contracts run once for all tasks that have them; tasks whose tests are the same
    command share one run of it.
    """
    here = {one.task.id for one in subjects if is_this(one.known) and _covers_settings(one)}
    proven = {
        (proof.kind, proof.command): proof
        for one in subjects
        if one.task.id in here
        for proof in one.known.proofs
        if proof.verdict in _GOOD and proof.command
    }
    own: list[tuple[Subject, tuple[Step, ...]]] = []
    shared: dict[Key, list[tuple[Subject, Step]]] = {}
    remembered = {
        one.task.id: tuple(proof for proof in one.known.proofs if not proof.is_of_another_task)
        for one in subjects
        if one.task.id in here
    }
    kept = frozenset(
        one.task.id
        for one in subjects
        if one.task.id in untouched and one.task.id not in here and _covers_settings(one)
    )
    for one in subjects:
        if one.task.id in here:
            continue
        left_out: frozenset[str] = _OF_A_CHANGE
        if one.task.id in kept:
            remembered[one.task.id] = tuple(_own_proofs(one.known))
            left_out = frozenset(check.kind for _, check in _checks(one.task, settings)) - {"gate"}
        steps = [step for step in _checks(one.task, settings) if step[1].kind not in left_out]
        for step in steps:
            if _is_shared(step[1]):
                # Evidence stores commands redacted, so lookups must redact, too.
                known = proven.get((step[1].kind, redact(step[1].command)))
                if known is None:
                    shared.setdefault(key_of(step[1]), []).append((one, step))
                else:
                    found = (*remembered.get(one.task.id, ()), replace(known, id=step[1].id))
                    remembered[one.task.id] = found
        mine = tuple(step for step in steps if not _is_shared(step[1]))
        if mine:
            own.append((one, mine))
    return VerificationPlan(tuple(subjects), (*_of_all(shared), *_together(own)), remembered, kept)


def _own_proofs(known: TaskState) -> Iterator[Proof]:
    """Yield the proofs of a task's own checks with the commit that they ran on."""
    for proof in known.proofs:
        if proof.kind != "gate" and not proof.is_of_another_task:
            yield replace(proof, base=proof.base or known.commit)


def _covers_settings(one: Subject) -> bool:
    """Return whether the stored proof covers all that the settings require."""
    return not any(proof.note.startswith(UNREAD) for proof in one.known.proofs)


def _checks(task: Task, settings: Settings) -> list[Step]:
    return [
        (family, check)
        for family in FAMILIES
        for check in family.checks(task, settings)
        if not check.task
    ]


def _is_shared(check: Check) -> bool:
    return check.kind in _SHARED and bool(check.command)


def key_of(check: Check) -> Key:
    """Return the key that two checks share if one run is enough for both."""
    kind = check.id if check.kind == "contract" else check.kind
    return (kind.rstrip("-0123456789"), check.command, check.network)


def _of_all(shared: Mapping[Key, list[tuple[Subject, Step]]]) -> list[CheckJob]:
    """Return a job for each shared command, run for the task that was DONE last."""
    jobs = []
    for uses in shared.values():
        last, step = max(uses, key=lambda use: use[0].known.done_at)
        owners = tuple(dict.fromkeys(one.task.id for one, _ in uses))
        jobs.append(CheckJob(((last, (step,)),), owners))
    return jobs


def _together(own: list[tuple[Subject, tuple[Step, ...]]]) -> list[CheckJob]:
    """Return a job per task, or one for tasks that share a test command."""
    groups: list[list[tuple[Subject, tuple[Step, ...]]]] = []
    at: dict[Key, int] = {}
    for entry in own:
        keys = [key_of(check) for _, check in entry[1] if check.kind == "test"]
        found = sorted({at[key] for key in keys if key in at})
        home = found[0] if found else len(groups)
        if not found:
            groups.append([])
        for other in found[1:]:
            groups[home] += groups[other]
            groups[other] = []
            at |= {key: home for key, group in at.items() if group == other}
        groups[home].append(entry)
        at |= dict.fromkeys(keys, home)
    return [CheckJob(tuple(group)) for group in groups if group]


# --- what it says ---------------------------------------------------------------------


def as_known(proved: Proved, check: Check, known: TaskState) -> Proved:
    """Return a known failure or an answered question as a note.

    So is a question that a person answered when these bytes landed.
    """
    if any(finding.asks for finding in proved.findings):
        proved = replace(proved, findings=tuple(_answered(proved.findings, known)))
    failed = proved.proof is not None and proved.proof.verdict is Verdict.FAIL
    kept = next((proof.verdict for proof in known.proofs if proof.id == check.id), None)
    if not failed or kept is not Verdict.KNOWN or proved.proof is None:
        return proved
    proof = replace(proved.proof, verdict=Verdict.KNOWN, note="it also failed before the task")
    findings = tuple(replace(one, severity=Severity.WARNING) for one in proved.findings)
    return replace(proved, proof=proof, findings=findings)


def _answered(findings: Iterable[Finding], known: TaskState) -> Iterator[Finding]:
    """Turn questions that a person let pass into warnings."""
    notes = [one.note for one in known.proofs if APPROVED in one.note]
    for one in findings:
        passed = any(one.message in note or MORE in note for note in notes)
        yield replace(one, severity=Severity.WARNING) if one.asks and passed else one


def inspect(
    plan: VerificationPlan, results: Iterable[tuple[CheckJob, str, Check, Proved]]
) -> tuple[tuple[Inspected, ...], int]:
    """Return each task's inspection from its checks' results, and how many commands ran."""
    heard: dict[str, list[Proved]] = {}
    answers: dict[str, list[str]] = {}
    ran = 0
    for job, task, check, proved in results:
        ran += bool(check.command)
        for owner in job.owners or (task,):
            heard.setdefault(owner, []).append(proved)
        if _refuses(proved):
            answers.setdefault(task, []).append(check.id)
    tasks = (
        replace(
            _inspect_task(one, plan, heard.get(one.task.id, [])),
            to_answer_for=tuple(dict.fromkeys(answers.get(one.task.id, ()))),
        )
        for one in plan.subjects
    )
    return tuple(tasks), ran


def _refuses(proved: Proved) -> bool:
    bad = proved.proof is not None and proved.proof.verdict not in _GOOD
    return bad or any(finding.refuses for finding in proved.findings)


def _inspect_task(one: Subject, plan: VerificationPlan, results: list[Proved]) -> Inspected:
    before = plan.remembered.get(one.task.id, ())
    found = tuple(proved.proof for proved in results if proved.proof)
    measured = next((proved.coverage for proved in results if proved.coverage), None)
    stands = one.task.id in plan.untouched
    return Inspected(
        task=one.task.id,
        title=one.task.title,
        proofs=(*before, *found),
        findings=tuple(finding for proved in results for finding in proved.findings),
        coverage=measured or (None if results and not stands else one.known.coverage),
        tools=tuple(dict(tool for proved in results for tool in proved.tools).items()),
        ran=bool(results),
        stands_since=one.known.commit if stands else "",
    )
