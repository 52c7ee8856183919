"""Look up or measure how much of a task's own lines its test contracts run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from runner.app.build.discovered_gates import apply_default_gates
from runner.app.prove.prove_tree import WorkTreeSnapshot, open_slots
from runner.app.prove.task_shell import find_subject, open_tree
from runner.gates import contract_tests, shim
from runner.gates.coverage.lines import commits_of, lines_of_landing, own_lines, together
from runner.gates.coverage.measurements import read_measurement
from runner.gates.coverage.percent import weigh
from runner.gates.coverage_gate import threshold_of
from runner.model import Verdict
from runner.model.words import HELD_OUT_MISSING
from runner.plan.globs import matches
from runner.repo.read import Repository
from runner.report.documents import document
from runner.run.proof.same_tree import make_same_tree_test
from runner.run.selection import find_id
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.coverage.percent import Weight
    from runner.model import Change, Coverage, Finding, Task
    from runner.project import Project


class CoverageRequest(Struct, frozen=True):
    """The task whose lines are meant."""

    task: str
    threshold: float | None = None
    """Threshold in percent; None: the plan's."""
    again: bool = False
    """Run the test contracts even if the journal has a result."""


class TaskCoverage(Struct, frozen=True):
    """The share of a task's own lines that its test contracts run."""

    task: str
    coverage: Coverage | None
    """None if nothing could be or needed to be measured."""
    left_out: tuple[str, ...]
    """Files with their uncovered lines."""
    source: str
    """`journal`, `measured` on the work tree, or `draft`."""
    trouble: tuple[str, ...] = ()
    failed: bool = False
    """Whether a test failed, or missing coverage counts as a failure."""

    @property
    def passed(self) -> bool:
        """Whether the threshold is reached, or there is nothing to measure."""
        short = self.coverage is not None and self.coverage.percent < self.coverage.threshold
        return not (self.failed or short)


class _Measurement(Struct, frozen=True):
    """The measured lines of a task that its test contracts ran."""

    weight: Weight
    findings: tuple[Finding, ...]
    """Why a test contract failed; then nothing is measured."""
    missing: tuple[str, ...]
    unrun: tuple[str, ...] = ()
    """Held-out contracts whose files are not on this machine; they are not measured."""


def check_coverage(project: Project, request: CoverageRequest) -> TaskCoverage:
    """Return the coverage if the measured tree is unchanged; else measure it.

    Raises RunnerError where no sandbox can be had.
    """
    apply_default_gates(project)
    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    task = tasks[find_id(request.task, tasks)]
    asked = request.threshold
    if asked is None:
        asked = threshold_of(task, project.settings)
    with Repository.open(project.root) as repository:
        state = project.state().task(task.id)
        subject = find_subject(repository, state, None)
        if subject.changes and task.test_contracts:  # not landed: the work tree does not have it
            with open_tree(project, repository, task, state, subject) as context:
                found = _measure_in(context, own_lines(context))
            return replace(_judge(project, task, found, asked), source="draft")
        known = None if request.again else _load_measurement(project, repository, task, asked)
        return known or _check(project, repository, task, asked)


def _load_measurement(
    project: Project, repository: Repository, task: Task, asked: float
) -> TaskCoverage | None:
    """Return the last coverage result if the working tree has not changed since."""
    known = project.state().task(task.id)
    last = known.passed
    coverage, tree = (last.coverage, last.tree) if last else (known.coverage, known.tree)
    documents = project.documents
    facts = repository.state()
    changed = [*(file.path for file in facts.dirty), *facts.untracked]
    if coverage is None or not tree or any(path not in documents for path in changed):
        return None
    head = repository.head().commit or ""
    seen = replace(known, tree=tree, verified=True, done_at="")
    if not head or not make_same_tree_test(repository, head, documents, ())(seen):
        return None
    proofs = last.proofs if last else known.proofs
    note = next((proof.note for proof in proofs if proof.kind == "coverage"), "")
    left = tuple(part for part in note.removeprefix("not run: ").split("; ") if part)
    coverage = replace(coverage, threshold=asked)
    return TaskCoverage(task.id, coverage, left, "journal")


def _check(project: Project, repository: Repository, task: Task, asked: float) -> TaskCoverage:
    if not task.test_contracts:
        return TaskCoverage(task.id, None, (), "measured", (f"{task.id} has no test contracts",))
    snapshot = WorkTreeSnapshot.of(repository)
    with open_slots(project, repository) as opened:
        (site,) = opened.slots
        snapshot.put_into(site)
        own = _own(repository, task, snapshot.changes)
        logs = site.logs / "coverage" / task.id, f"{site.logs_shown}/coverage/{task.id}"
        found = _measure_in(snapshot.context(site, task, project.environ, logs), own)
    return _judge(project, task, found, asked)


def _judge(project: Project, task: Task, found: _Measurement, asked: float) -> TaskCoverage:
    if found.findings:
        notes = tuple(f"{one.check}: {one.message}" for one in found.findings)
        return TaskCoverage(task.id, None, (), "measured", notes, failed=True)
    return _weigh(project, task, found, asked)


def _weigh(project: Project, task: Task, found: _Measurement, asked: float) -> TaskCoverage:
    weight = found.weight
    trouble = tuple(f"{one.path}: {one.why}; {one.needed}" for one in weight.unmeasured)
    trouble = (*found.missing, *trouble)
    fails = bool(trouble) and project.settings.proof.coverage_missing == "fail"
    left = tuple(f"{one.path} {one.shown}" for one in weight.files if one.left_out)
    unknown = trouble and (weight.unmeasured or not weight.reaches(asked))
    coverage = None if unknown else weight.coverage(asked)
    trouble = (*trouble, *found.unrun)
    return TaskCoverage(
        task.id, coverage, left if coverage else (), "measured", trouble, failed=fails
    )


def _own(
    repository: Repository, task: Task, changes: tuple[Change, ...]
) -> Mapping[str, frozenset[int]]:
    """Return the task's landed lines, and the uncommitted ones in its output files."""
    paths = [one.path for one in changes if one.content is not None]
    outputs = ("**",) if task.writes_everything else task.outputs
    new = [path for path in paths if any(matches(glob, path) for glob in outputs)]
    found = lines_of_landing(commits_of(task.id, repository), new, repository)
    return {path: frozenset(lines) for path, lines in found.items()}


def _measure_in(context: GateContext, own: Mapping[str, frozenset[int]]) -> _Measurement:
    failed: list[Finding] = []
    unrun: list[str] = []
    checks = contract_tests.checks(context.task, context.settings)
    for check in checks:
        proved = contract_tests.prove(check, context)
        bad = proved.proof is not None and proved.proof.verdict is Verdict.FAIL
        failed += [one for one in proved.findings if bad and one.refuses]
        unrun += [one.message for one in proved.findings if one.check == HELD_OUT_MISSING]
    failed += shim.findings(context)
    whole = together(
        read_measurement(check.id, context) for check in checks if check.id in context.ran
    )
    weight = weigh(own, whole, context.after, context.environment)
    return _Measurement(weight, tuple(failed), whole.missing, tuple(unrun))


# --- in words, and as a document ----------------------------------------------------------


def coverage_lines(found: TaskCoverage) -> Iterator[str]:
    """Yield the coverage and the lines that did not run."""
    coverage = found.coverage
    if coverage is None:
        yield f"{found.task}: coverage —"
        return
    sign = "✅" if found.passed else "❌"
    where = ", on its draft" if found.source == "draft" else ""
    yield f"{found.task}: {sign} {coverage.shown} (threshold {coverage.threshold:g}%{where})"
    yield from (f"  not run: {display(line)}" for line in found.left_out)


def coverage_document(found: TaskCoverage) -> str:
    """Return the `check-coverage` JSON document."""
    return document(
        "check-coverage",
        task=found.task,
        passed=found.passed,
        coverage=found.coverage and asdict(found.coverage),
        uncovered=[display(line) for line in found.left_out],
        source=found.source,
        trouble=[display(line) for line in found.trouble],
    )
