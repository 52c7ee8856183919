"""What the write pipeline, a review and the proof say of a proposal, in that order.

Review by a command of the person's choice: any program that reads a diff and says yes or no.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from runner.gates.base import command_limits
from runner.implementers.base import ImplementerContext, Said
from runner.implementers.registry import choose
from runner.model import Ending, Finding, Network, Reason, ReviewMode
from runner.process.base import Command
from runner.process.sandbox import ReadOnly
from runner.process.supervise import run
from runner.process.tools import find_project_python
from runner.run.planned import phases
from runner.run.proof.prove import bench_of, proof_of
from runner.run.proof.stages import measure_stage
from runner.run.proof_required import too_little
from runner.run.review import CHECK, Answer
from runner.text.wording import attempt_folder
from runner.writes.compile_check import lacks_only_tools
from runner.writes.pipeline import WriteContext as WriteBench
from runner.writes.pipeline import admit_writes, compile_writes
from runner.writes.scan_workspace import ScanWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.gates.registry import Proven
    from runner.implementers.base import Implementer
    from runner.model import Change, Outcome, Proof, Task
    from runner.process.base import Ran
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.review import Ruling


def evaluate(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """The outcome with what pipeline, review and proof say of it, one after the other."""
    if not outcome.changes:
        return _prove(assignment, site, outcome)
    bench = write_bench(assignment, site, outcome)
    with measure_stage(assignment, site, "write pipeline"):
        admitted = admit_writes(outcome.changes, assignment.rules, bench)
    outcome = replace(outcome, tainted=admitted.tainted)
    if admitted.clean and _is_reviewed_at_write(assignment, site, outcome):
        ruling = site.crew.ask(outcome)
        if ruling.answer is Answer.WAITS:
            return replace(outcome, ending=Ending.WAITS)
        if ruling.answer is Answer.EDITED:
            return evaluate(assignment, site, _with_edit(assignment, site, outcome, ruling))
        if ruling.standing:  # said before: the attempt counts, and is told of it when it is settled
            return outcome
        outcome = replace(outcome, findings=(*outcome.findings, *ruling.findings))
        if ruling.answer is Answer.REJECTED:
            return outcome
    with measure_stage(assignment, site, "compile and static analysis"):
        passed = compile_writes(admitted, assignment.rules, bench)
    outcome = replace(outcome, findings=(*outcome.findings, *passed.findings))
    site.crew.add_scan(assignment.task.id, assignment.attempt, passed.sast)
    if not passed.clean:
        return without_tools(outcome)
    if site.settings.sast_block_at != "never":  # then a person wants to wait for it
        blocking = passed.sast.result().find_blocking(site.settings.sast_block_at)
        outcome = replace(outcome, findings=(*outcome.findings, *blocking))
        if blocking:
            return outcome
    return _prove(assignment, site, outcome)


def without_tools(outcome: Outcome) -> Outcome:
    """The outcome as one for a person, where nothing but a missing compiler refuses the work."""
    if not lacks_only_tools(outcome.findings):
        return outcome
    return replace(outcome, ending=Ending.BLOCKED, reason=Reason.TOOL)


def screen(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """The outcome of work that goes no further, with what may be kept of it nowhere.

    A draft branch keeps the rest: what holds a secret or lies out of scope must not come along.
    """
    if not outcome.changes:
        return outcome
    admitted = admit_writes(
        outcome.changes, assignment.rules, write_bench(assignment, site, outcome)
    )
    findings = tuple(finding for finding in admitted.findings if finding.refuses)
    return replace(outcome, tainted=admitted.tainted, findings=(*outcome.findings, *findings))


def _is_reviewed_at_write(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> bool:
    """Whether a person looks before anything is compiled, rather than once at the end."""
    at_write = site.settings.review_at == "write" and assignment.review is ReviewMode.PROMPT
    return at_write and bool(outcome.changes)


def _with_edit(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, ruling: Ruling
) -> Outcome:
    """The proposal as a person edited it: it begins again at the first step."""
    site.reset(assignment.base)
    site.scratch.apply(ruling.changes)
    seen = site.scratch.snapshot()
    return replace(outcome, tree=seen.tree, changes=seen.changes)


def _prove(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """The outcome with its proof, and with the reviewing command's word where one is asked."""
    proof = phases.proof_so_far if assignment.is_partial else proof_of
    return conclude(assignment, site, outcome, proof(assignment, site, outcome))


def conclude(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: Proven
) -> Outcome:
    """The outcome by what its proof says, and by whoever reviews it."""
    findings = (*outcome.findings, *proven.findings)
    bad = any(finding.refuses for finding in findings)
    # Only of proven bytes: nobody is paid for reading what will be built again anyway.
    if assignment.review is ReviewMode.AUTO and outcome.changes and not bad:
        review = review_of(assignment, site, outcome)
        findings = (*findings, *review.findings)
        outcome = replace(outcome, usage=outcome.usage + review.usage)
    good = not any(finding.refuses for finding in findings)
    # another attempt helps nobody
    reason = Reason.TOOL if any(finding.check == UNABLE for finding in findings) else None
    if good and (lack := _too_little(assignment, site, outcome, proven.proofs)) is not None:
        good, reason, findings = False, Reason.PROOF, (*findings, lack)
    failed = Ending.BLOCKED if reason else Ending.FAILED
    return replace(
        outcome,
        ending=Ending.PASSED if good else failed,
        reason=reason or outcome.reason,
        findings=findings,
        proofs=proven.proofs,
        coverage=proven.coverage,
        observed=proven.observed,
        tools=proven.tools,
    )


def _too_little(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proofs: tuple[Proof, ...]
) -> Finding | None:
    """What a whole proof lacks that passed, by whose work it is of."""
    if assignment.is_partial or assignment.stands:
        return None  # phases are proven together; tests that stand are among the proofs later
    written = [change.path for change in outcome.changes]
    return too_little(assignment.task, site.settings, assignment.author, proofs, written)


def write_bench(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> WriteBench:
    """What the write pipeline works with."""
    bench = bench_of(assignment, site, outcome)
    limits = command_limits(assignment.task, site.settings)

    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        return run(
            Command(
                line=line,
                place=site.place,
                environment=bench.environment,
                stdin=stdin,
                limits=limits,
                known_secrets=bench.known_secrets,
                folder=folder,
            ),
            site.sandbox,
            tell=site.teller(assignment),
            cancelled=site.cancelled,
        )

    return WriteBench(
        tree=site.scratch.project,
        before=lambda path: site.before(assignment.base, path),
        run_command=run_command,
        python=find_project_python(site.place, bench.environment),
        on_base=None if site.settings.strict else bench.on_base,
        sast=site.sast,
        secrets=assignment.secrets,
        stopped=site.scratch.stopped,
        laboratory=ScanWorkspace(
            folder=site.place.box.parent / "scans",
            tree=site.scratch.project,
            base=lambda path: site.before(assignment.base, path),
            place=site.place,
            sandbox=site.sandbox,
            environment=site.base_environment,
            interrupted=lambda: site.crew.interrupted,  # a crew that ends in peace ends no scan
        ),
    )


# --- a review by an agent -------------------------------------------------------------


@runtime_checkable
class Reviewer(Protocol):
    """An implementer that can read a diff or a plan and say yes, or why not."""

    def review(
        self, brief: Brief, bench: ImplementerContext, text: str, *, is_plan: bool = False
    ) -> Said:
        """Findings where it says no, and what it used."""


def review_by_agent(
    assignment: Assignment, site: WorkerContext, text: str, *, is_plan: bool = False
) -> Said | None:
    """What a session of the task's own agent says of a diff; None where no such review is set.

    With `is_plan` it is the text of a plan that it reads.
    """
    if not site.settings.model_review:
        return None
    agent = assignment.implementer or choose(assignment.task, site.settings)
    if not isinstance(agent, Reviewer):
        message = "review is auto, and what implements this task cannot review"
        hint = "set review_command in your own settings, or review = prompt"
        return Said(findings=(Finding(CHECK, message, hint=hint),))
    return agent.review(assignment.brief, _bench(assignment, site), text, is_plan=is_plan)


def _bench(assignment: Assignment, site: WorkerContext) -> ImplementerContext:
    logs = site.logs / assignment.task.id / attempt_folder(assignment.attempt)
    return ImplementerContext(
        place=site.place,
        sandbox=ReadOnly(site.sandbox),
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=logs / "review.log",
        known_secrets=tuple(value for _, value in assignment.secrets),
        left=assignment.left,
        plan=assignment.plan,
        record=lambda event: site.crew.report(assignment.task.id, assignment.attempt, event),
    )


UNABLE = "review-command"
"""The check of a reviewing command that says neither yes nor no: no attempt can help that."""
_CANNOT_START = (126, 127)
"""What a shell says of a program that it may not, or cannot, run (POSIX, 2.8.2)."""
_ENCLOSED = (
    "it runs enclosed, in the task's tree: name its program by its whole path, "
    "and the folder that it lies in under sandbox_read in your own settings"
)
_HINT = "set review_command or [model] review (for agents) in your own settings, or review = prompt"


def review_by_command(
    assignment: Assignment, site: WorkerContext, outcome: Outcome
) -> tuple[Finding, ...]:
    """What has to be said against a change where review is `auto`; see `review_of`."""
    return review_of(assignment, site, outcome).findings


def review_of(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Said:
    """Let `review_command` read the diff on standard input; exit 0 approves, else it says why.

    It is the person's own setting, never the repository's, and may use the network. Where there
    is none, but a model for reviews, a session of the task's agent reads it.
    """
    line = site.settings.review_command
    diff = "".join(
        part
        for change in outcome.changes
        for part in diff_of(change, lambda path: site.before(assignment.base, path))
    )
    if line:
        return Said(findings=ask_review_command(assignment, site, line, diff))
    if (said := review_by_agent(assignment, site, diff)) is not None:
        return said
    none = Finding(check=CHECK, message="review is auto, and no command reviews", hint=_HINT)
    return Said(findings=(none,))


def without_reviewer(mode: ReviewMode, settings: Settings, implementer: Implementer | None) -> str:
    """Why nobody could review what a task would be built into; empty where somebody can."""
    name = "" if implementer is None else implementer.name
    if mode is not ReviewMode.AUTO or settings.review_command or name in ("", "check"):
        return ""
    if not settings.model_review:
        return f"review is auto, and nothing reviews; {_HINT}"
    if isinstance(implementer, Reviewer):
        return ""
    return f"review is auto, and what implements this task ({name}) cannot review; {_HINT}"


def find_no_auto(task: Task, settings: Settings, implementer: Implementer | None) -> str:
    """Why a person at the terminal cannot give a task's reviews away; empty where they can.

    Plan and repository only tighten: what they ask for is not answered by a key.
    """
    if task.review is ReviewMode.PROMPT:
        return f"the plan says Review: prompt for {task.id}"
    if settings.review_floor is ReviewMode.PROMPT:
        return "this repository's settings say review = prompt"
    return without_reviewer(ReviewMode.AUTO, settings, implementer)


def ask_review_command(
    assignment: Assignment, site: WorkerContext, line: str, text: str, check: str = CHECK
) -> tuple[Finding, ...]:
    """What a reviewing command has against a text that it reads on standard input."""
    command = Command(
        line=line,
        place=site.place,
        environment=site.environment(assignment),
        stdin=text.encode("utf-8", "surrogateescape"),
        network=Network.YES,
        limits=command_limits(assignment.task, site.settings),
        known_secrets=tuple(value for _, value in assignment.secrets),
    )
    ran = run(command, site.sandbox, tell=site.teller(assignment), cancelled=site.cancelled)
    if ran.passed:
        return ()
    reason = ran.tail.strip() or f"it ended with exit code {ran.exit}"
    if ran.exit in _CANNOT_START:
        message = f"the reviewing command cannot run (exit {ran.exit})"
        where = UNABLE if check == CHECK else check
        return (Finding(check=where, message=message, detail=reason, hint=_ENCLOSED),)
    return (Finding(check=check, message="the reviewing command says no", detail=reason),)


def diff_of(change: Change, before: Callable[[str], bytes | None]) -> Iterator[str]:
    """One file's unified diff; bytes that are no text are only named."""
    try:
        old = _lines(before(change.path) or b"")
        new = _lines(change.content or b"")
    except UnicodeDecodeError:
        yield f"Binary file {change.path} {change.action}\n"
        return
    yield from difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}")


def _lines(content: bytes) -> list[str]:
    """Lines as git's diffs have them: ended by LF alone, and the last one says where it is not.

    Else what follows would stand on that line: the head of the next file.
    """
    *whole, last = content.decode().split("\n")
    open_end = [f"{last}\n\\ No newline at end of file\n"] if last else []
    return [*(f"{line}\n" for line in whole), *open_end]
