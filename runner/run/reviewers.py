"""Automatic reviewers for review `auto`: a command, an agent or a model.

A task with acceptance items is reviewed item by item; any other is approved or rejected as a whole.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.gates.base import command_limits
from runner.gates.base_result import earlier
from runner.gates.contract_tests import checks as contract_checks
from runner.gates.mutation import function_bodies
from runner.implementers.base import ImplementerContext, Mode, WorkResult
from runner.implementers.command import output_of
from runner.implementers.registry import choose_reviewer, model_of, names_reviewer
from runner.lazy_module import lazy_module
from runner.model import Finding, Network, ReviewMode
from runner.model.work import items_of
from runner.process.base import Command
from runner.process.sandbox import ReadOnly
from runner.process.supervise import run
from runner.run.proof.prove import make_gate_context
from runner.run.review import CHECK
from runner.text.wording import attempt_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.gates.base import Check, GateContext
    from runner.gates.registry import TaskProof
    from runner.implementers.base import Drafter, Implementer
    from runner.model import Change, Outcome, Task
    from runner.process.base import Ran
    from runner.run import acceptance_review
    from runner.run.worker_assignment import Assignment, WorkerContext
else:
    acceptance_review = lazy_module("runner.run.acceptance_review")


@runtime_checkable
class Reviewer(Protocol):
    """An implementer that can read a diff or a plan and say yes, or why not."""

    def review(
        self, brief: Brief, context: ImplementerContext, text: str, *, is_plan: bool = False
    ) -> WorkResult:
        """Review a text; return findings if it is rejected, and the usage."""


def review_by_agent(
    assignment: Assignment, site: WorkerContext, text: str, *, is_plan: bool = False
) -> WorkResult | None:
    """Review a diff in a session of the task's agent; None if no such review is configured.

    With `is_plan` it is the text of a plan that it reads.
    """
    if not site.settings.model.review:
        return None
    chosen = choose_reviewer(assignment.task, site.settings)
    agent = chosen[0] if chosen else None
    if not isinstance(agent, Reviewer):
        message = "review is auto, but this task's implementer cannot review"
        hint = 'set review.command in your own settings, or review.mode = "prompt"'
        return WorkResult(findings=(Finding(CHECK, message, hint=hint),))
    return agent.review(assignment.brief, _review_context(assignment, site), text, is_plan=is_plan)


def _review_context(assignment: Assignment, site: WorkerContext) -> ImplementerContext:
    return ImplementerContext(
        place=site.place,
        sandbox=ReadOnly(site.sandbox),
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=_log_of(assignment, site),
        known_secrets=tuple(value for _, value in assignment.secrets),
        left=assignment.left,
        plan=assignment.plan,
        record=lambda event: site.workers.report(assignment.task.id, assignment.attempt, event),
    )


UNABLE = "review-command"
"""Check name of a review command without a verdict: no attempt can fix that."""
_CANNOT_START = (126, 127)
"""Exit codes of a shell for a program that it may not, or cannot, run (POSIX, 2.8.2)."""
_ENCLOSED = (
    "the command runs in the sandbox, in the task's tree: use the full path of its program, "
    "and add its folder to sandbox.read in your own settings"
)
_HINT = 'set review.command or model.review (agents) in your settings, or review.mode = "prompt"'


def review_of(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: TaskProof | None = None
) -> acceptance_review.ItemReview:
    """Return what whoever reviews has against a change, and the acceptance table.

    `review.command` is the person's own setting, never the repository's, and may use the network.
    It reads the diff on standard input; exit 0 approves, else it says why. Where there is none, but
    a model for reviews, a session of an agent or a model reads it. `proven` is the proof, where
    this process made it.
    """
    diff = "".join(
        part
        for change in outcome.changes
        for part in diff_of(change, lambda path: site.before(assignment.base, path))
    )
    reader = _choose_reader(assignment, site, diff) if items_of(assignment.task) else None
    if reader is not None:
        return _review_by_item(assignment, site, outcome, reader, diff, proven)
    if line := site.settings.review.command:
        return acceptance_review.ItemReview(
            findings=ask_review_command(assignment, site, line, diff)
        )
    if (result := review_by_agent(assignment, site, diff)) is not None:
        return acceptance_review.ItemReview(findings=result.findings, usage=result.usage)
    none = Finding(check=CHECK, message="review is auto, but no reviewer is set", hint=_HINT)
    return acceptance_review.ItemReview(findings=(none,))


def _review_by_item(
    assignment: Assignment,
    site: WorkerContext,
    outcome: Outcome,
    reader: acceptance_review.Reader,
    diff: str,
    proven: TaskProof | None,
) -> acceptance_review.ItemReview:
    task, items = assignment.task, items_of(assignment.task)
    context = make_gate_context(assignment, site, outcome)
    evidence = ProposalEvidence(context, None if proven is None else proven.passed)
    material = acceptance_review.compose_material(
        task,
        items,
        base=assignment.base,
        diff=diff,
        tests=evidence.tests,
        proofs=outcome.proofs if proven is None else proven.proofs,
        facts=outcome.findings if proven is None else (*outcome.findings, *proven.findings),
    )
    author = model_of(task, site.settings, assignment.author)
    reviewed = acceptance_review.review_items(reader, material, items, evidence, author)
    if isinstance(reviewed, acceptance_review.ReviewReading):  # as without items
        return acceptance_review.ItemReview(findings=reviewed.findings, usage=reviewed.usage)
    return reviewed


def _choose_reader(
    assignment: Assignment, site: WorkerContext, diff: str
) -> acceptance_review.Reader | None:
    """Return who answers item by item; None where nothing is set that can."""
    settings = site.settings
    if line := settings.review.command:
        ask = partial(_ask_command, assignment, site, line, diff)
        return acceptance_review.Reader("review_command", ask, repairs=0)
    chosen = choose_reviewer(assignment.task, settings)
    if chosen is None:
        return None
    drafter, model = chosen
    return acceptance_review.Reader(
        drafter.name, partial(_ask_session, assignment, site, drafter), model
    )


def _ask_command(
    assignment: Assignment, site: WorkerContext, line: str, diff: str, material: str
) -> acceptance_review.ReviewReading:
    """Run `review.command` with the diff on standard input and the material in a file."""
    folder = site.place.box / f"review-{effects.new_id()}"
    effects.make_folder(folder)
    path = folder / "review.md"
    try:
        effects.write_file(path, material.encode("utf-8", "replace"))
        seen = {"RUNNER_REVIEW": str(site.sandbox.sees(site.place, path))}
        ran = _run_command(assignment, site, line, diff, seen)
    finally:
        with suppress(OSError):  # what resists is in nobody's way
            effects.remove_tree(folder)
    return acceptance_review.ReviewReading(output_of(ran), _against(ran, CHECK))


def _ask_session(
    assignment: Assignment, site: WorkerContext, drafter: Drafter, material: str
) -> acceptance_review.ReviewReading:
    """Run a review in a fresh session of an agent or model, with a read-only tree."""
    brief = replace(assignment.brief, text=material, previous="")
    answer = drafter.answer(brief, replace(_review_context(assignment, site), mode=Mode.REVIEW))
    return acceptance_review.ReviewReading(answer.text, answer.result.findings, answer.result.usage)


def without_reviewer(mode: ReviewMode, settings: Settings, implementer: Implementer | None) -> str:
    """Return why no reviewer is available for a task; empty if one is."""
    name = "" if implementer is None else implementer.name
    if mode is not ReviewMode.AUTO or settings.review.command or name in ("", "check"):
        return ""
    if not settings.model.review:
        return f"review is auto, but no reviewer is set; {_HINT}"
    if isinstance(implementer, Reviewer) or names_reviewer(settings):
        return ""
    return f"review is auto, but this task's implementer ({name}) cannot review; {_HINT}"


def find_no_auto(task: Task, settings: Settings, implementer: Implementer | None) -> str:
    """Return why a person cannot switch a task to automatic review; empty if they can.

    Plan and repository only tighten: what they ask for is not answered by a key.
    """
    if task.review is ReviewMode.PROMPT:
        return f"the plan sets Review: prompt for {task.id}"
    if settings.floor.review is ReviewMode.PROMPT:
        return "this repository's settings have review.mode = prompt"
    return without_reviewer(ReviewMode.AUTO, settings, implementer)


def ask_review_command(
    assignment: Assignment, site: WorkerContext, line: str, text: str, check: str = CHECK
) -> tuple[Finding, ...]:
    """Run the review command with a text on standard input, and return its findings."""
    return _against(_run_command(assignment, site, line, text, {}), check)


def _run_command(
    assignment: Assignment, site: WorkerContext, line: str, text: str, more: Mapping[str, str]
) -> Ran:
    command = Command(
        line=line,
        place=site.place,
        environment={**site.environment(assignment), **more},
        stdin=text.encode("utf-8", "surrogateescape"),
        network=Network.YES,
        limits=command_limits(assignment.task, site.settings),
        log=_log_of(assignment, site),
        known_secrets=tuple(value for _, value in assignment.secrets),
    )
    return run(command, site.sandbox, tell=site.teller(assignment), cancelled=site.cancelled)


def _log_of(assignment: Assignment, site: WorkerContext) -> Path:
    return site.logs / assignment.task.id / attempt_folder(assignment.attempt) / "review.log"


def _against(ran: Ran, check: str) -> tuple[Finding, ...]:
    """Return the findings for an exit code other than 0."""
    if ran.passed:
        return ()
    reason = ran.tail.strip() or f"the command ended with exit code {ran.exit}"
    if ran.exit in _CANNOT_START:
        message = f"the review command cannot run (exit {ran.exit})"
        where = UNABLE if check == CHECK else check
        return (Finding(check=where, message=message, detail=reason, hint=_ENCLOSED),)
    return (
        Finding(check=check, message="the review command rejected the proposal", detail=reason),
    )


class ProposalEvidence(Struct, frozen=True, dict=True):
    """The evidence of a proposal: its files, and its tests with and without its functions."""

    context: GateContext
    known: Mapping[str, frozenset[str]] | None = None
    """By contract, the tests that passed in the proof; None if that ran elsewhere."""

    @cached_property
    def passed(self) -> dict[str, frozenset[str]]:
        """Ids of the passed tests, by passed contract."""
        if self.known is not None:
            return dict(self.known)
        ran = (
            (check.id, earlier(check, self.context, self.context.changes)) for check in self._checks
        )
        return {
            id_: frozenset(test for test, _ in found.passing)
            for id_, found in ran
            if found is not None and found.passed
        }

    @cached_property
    def _checks(self) -> tuple[Check, ...]:
        return contract_checks(self.context.task, self.context.settings)

    @cached_property
    def _fallible(self) -> dict[str, bool]:
        """Whether each test and contract fails when the changed functions are stubbed.

        Where none can be stubbed it is asked on the base with the tests that the change makes.
        """
        context, fails = self.context, dict[str, bool]()
        stubbed = function_bodies.stub_changes(context.changes, context.before, context.is_test)
        tests = tuple(one for one in context.changes if context.is_test(one.path))
        for check in self._checks:
            found = earlier(check, context, stubbed or tests)
            if found is None:
                continue
            passing = frozenset(test for test, _ in found.passing)
            # A file that cannot be loaded fails all its tests, and may name none of them.
            unnamed = not (found.passed or passing or found.failing)
            failing = self.passed.get(check.id, frozenset()) if unnamed else found.failing
            fails |= dict.fromkeys(passing - fails.keys(), False) | dict.fromkeys(failing, True)
            fails[check.id] = not found.passed
        return fails

    @property
    def tests(self) -> tuple[str, ...]:
        """Ids of the tests that a reader may cite, and contracts whose tests have no ids."""
        named = (tests or frozenset((id_,)) for id_, tests in self.passed.items())
        return tuple(sorted(frozenset[str]().union(*named)))

    def count_lines(self, path: str) -> int:
        """Return the number of lines of a proposed file; 0 if it is not text."""
        content = self.context.after(path) or b""
        return 0 if b"\0" in content else len(content.splitlines())

    def is_changed(self, path: str) -> bool:
        """Return whether the proposal changes a file."""
        return any(one.path == path for one in self.context.changes)

    def has_passed(self, test: str) -> bool:
        """Return whether a test or contract with this ID ran and passed."""
        return test in self.passed or any(test in tests for tests in self.passed.values())

    def can_fail(self, test: str) -> bool | None:
        """Return whether a test fails on stubbed functions; None if not measured."""
        return self._fallible.get(test)


def diff_of(change: Change, before: Callable[[str], bytes | None]) -> Iterator[str]:
    """Yield a file's unified diff; binary files are only named."""
    try:
        old = _lines(before(change.path) or b"")
        new = _lines(change.content or b"")
    except UnicodeDecodeError:
        yield f"Binary file {change.path} {change.action}\n"
        return
    yield from difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}")


def _lines(content: bytes) -> list[str]:
    """Split content into diff lines at LF, marking a missing final line end as git does.

    Else what follows would stand on that line: the head of the next file.
    """
    *whole, last = content.decode().split("\n")
    open_end = [f"{last}\n\\ No newline at end of file\n"] if last else []
    return [*(f"{line}\n" for line in whole), *open_end]
