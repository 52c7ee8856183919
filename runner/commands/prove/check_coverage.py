"""`runner check-coverage`: how much of a task's own lines its test contracts run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.report.documents import document
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.prove.measure_coverage import Measurement
    from runner.model import Coverage, Task
    from runner.project import Project
    from runner.repo.read import Repository

_EPILOG = """\
What the journal knows is told where the tree is still the one that was measured; else the task's
test contracts run in a scratch tree with the files as they are now.

exit codes: 0 the threshold is reached, or there is nothing to measure; 1 it is not, or a test
failed; 2 wrong usage

examples:
  runner check-coverage --task TASK-003
  runner check-coverage --threshold 70 --task TASK-003 --json
"""


@dataclass(frozen=True, slots=True)
class _Told:
    """What is said at the end."""

    coverage: Coverage | None
    left_out: tuple[str, ...]
    """Files with their lines that were not run."""
    source: str
    """`journal` or `measured`."""
    trouble: tuple[str, ...] = ()
    failed: bool = False


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner check-coverage` takes."""
    del name
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--task", required=True, metavar="ID", help="the task whose lines are meant")
    add("--threshold", type=_percent, metavar="PERCENT", help="default: what the plan asks for")
    add("--again", action="store_true", help="run the test contracts whatever the journal knows")
    add("--trust", action="store_true", help="let this repository's commands run")
    add("--json", action="store_true", help="one JSON document")


def _percent(text: str) -> float:
    import argparse

    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:  # noqa: PLR2004 - percent
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return number


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Look it up, or measure; then say it."""
    from runner.commands.consent import load_trusted_plan, open_with_gates
    from runner.gates.coverage_gate import threshold_of
    from runner.repo.read import Repository
    from runner.run.selection import find_id

    project = open_with_gates(environ, {})
    reading = load_trusted_plan(project, trusted=given.trust)
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(given.task, tasks)]
    asked = threshold_of(task, project.settings) if given.threshold is None else given.threshold
    with Repository.open(project.root) as repository:
        told = None if given.again else _load_measurement(project, repository, task)
        told = told or _measure(project, repository, task, asked)
    coverage = told.coverage and told.coverage._replace(threshold=asked)
    short = told.failed or (coverage is not None and coverage.percent < asked)
    (_say_json if given.json else _say)(task, told, coverage, passed=not short)
    return ExitCode.FAILED if short else ExitCode.OK


def _load_measurement(project: Project, repository: Repository, task: Task) -> _Told | None:
    """The last measurement, if the work tree is the one that was measured."""
    from runner.run.proof.same_tree import make_same_tree_test

    known = project.state().task(task.id)
    last = known.passed
    coverage, tree = (last.coverage, last.tree) if last else (known.coverage, known.tree)
    documents = project.documents
    facts = repository.state()
    changed = [*(file.path for file in facts.dirty), *facts.untracked]
    if coverage is None or not tree or any(path not in documents for path in changed):
        return None
    head = repository.head().commit or ""
    seen = known._replace(tree=tree, verified=True, done_at="")
    if not head or not make_same_tree_test(repository, head, documents, ())(seen):
        return None
    proofs = last.proofs if last else known.proofs
    note = next((proof.note for proof in proofs if proof.kind == "coverage"), "")
    left = tuple(part for part in note.removeprefix("not run: ").split("; ") if part)
    return _Told(coverage, left, "journal")


def _measure(project: Project, repository: Repository, task: Task, asked: float) -> _Told:
    from runner.app.prove.measure_coverage import measure

    if not task.test_contracts:
        return _Told(None, (), "measured", (f"{task.id} has no test contracts",))
    found = measure(project, repository, task)
    if found.findings:
        said = tuple(f"{one.check}: {one.message}" for one in found.findings)
        return _Told(None, (), "measured", said, failed=True)
    return _weigh(project, found, asked)


def _weigh(project: Project, found: Measurement, asked: float) -> _Told:
    from runner.gates.coverage.percent import why_unmeasured

    weight = found.weight
    trouble = tuple(
        f"{path}: {why_unmeasured(language, needed)}; {needed}"
        for language, path, needed in weight.unmeasured
    )
    trouble = (*found.missing, *trouble)
    fails = bool(trouble) and project.settings.coverage_missing == "fail"
    left = tuple(f"{one.path} {one.shown}" for one in weight.files if one.left_out)
    unknown = trouble and (weight.unmeasured or not weight.reaches(asked))
    coverage = None if unknown else weight.coverage(asked)
    return _Told(coverage, left if coverage else (), "measured", trouble, failed=fails)


def _say(task: Task, told: _Told, coverage: Coverage | None, *, passed: bool) -> None:
    for line in told.trouble:
        print(f"runner: {display(line)}", file=sys.stderr)
    if coverage is None:
        print(f"{task.id}: coverage —")
        return
    sign = "✅" if passed else "❌"
    print(f"{task.id}: {sign} {coverage.shown} (threshold {coverage.threshold:g}%)")
    for line in told.left_out:
        print(f"  not run: {display(line)}")


def _say_json(task: Task, told: _Told, coverage: Coverage | None, *, passed: bool) -> None:
    print(
        document(
            "check-coverage",
            task=task.id,
            passed=passed,
            coverage=coverage and coverage._asdict(),
            uncovered=[display(line) for line in told.left_out],
            source=told.source,
            trouble=[display(line) for line in told.trouble],
        ),
        end="",
    )
