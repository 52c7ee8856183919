"""Select the tests that a gate or pull request needs, by the plan or, without one, by a map.

The map keeps what the tests of a base were seen to run; a cache or an artifact carries its file. It
counts if its commit is a first-parent ancestor of the base branch, and the pull request did not
bring the file. Every row names the bytes that ran: a row about other bytes counts no more than an
import.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from runner import __version__, effects
from runner.app.change.impact_question import evaluate_impact
from runner.app.gate.test_suite import TESTS
from runner.errors import RunnerError
from runner.gates.coverage.lines import make_observed_rows
from runner.impact.answer import Affected, Basis, Impacted, Why, Width
from runner.impact.traces import Observations
from runner.lazy_dataclass import dataclass
from runner.model import Observed
from runner.plan.document import read_plan
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.gate.pull_request import MeasuredPullRequest
    from runner.app.gate.test_suite import TestSuite
    from runner.app.prove.prove_tree import Reproven
    from runner.config.settings import Settings
    from runner.impact.change import Changed
    from runner.impact.inputs import Knowledge
    from runner.impact.store import ImpactStore
    from runner.project import Project
    from runner.repo.read import Repository

# --- with a plan ----------------------------------------------------------------------


def select(
    found: MeasuredPullRequest, knowledge: Knowledge, suite: TestSuite, settings: Settings
) -> tuple[tuple[Affected, ...], str]:
    """Whom the change may affect, and why that has to be everything; empty where it has not.

    What nobody can decide counts, but for files that only people read.
    """
    firm = [one for one in found.changes if one.path not in found.prose]
    read = [one for one in found.changes if one.path in found.prose]
    answers = [
        evaluate_impact(firm, knowledge, Width(conservative=True)),
        evaluate_impact(read, knowledge, Width()),
    ]
    if suite.plan:
        answers.append(Impacted(tuple(_find_edited(found.changes, suite, settings))))
    selected = _unite(one for answer in answers for one in answer.affected)
    return selected, found.whole or _find_undecided(selected, suite)


def _find_undecided(selected: Sequence[Affected], suite: TestSuite) -> str:
    """What reached everything only since nobody can say whom it reaches."""
    if not suite.tasks or {task.id for task in suite.tasks} - {one.task for one in selected}:
        return ""
    whys = [next(_undecided(one.reasons), None) for one in selected]
    return whys[0].text if whys and whys[0] and all(whys) else ""


def _undecided(reasons: Iterable[Why]) -> Iterator[Why]:
    return (why for why in reasons if why.kind is Basis.UNDECIDED)


def _find_edited(
    changes: Iterable[Changed], suite: TestSuite, settings: Settings
) -> Iterator[Affected]:
    """Tasks of which the pull request changes what is asked, or how it is proven."""
    plan = next((one for one in changes if one.path == suite.plan), None)
    if plan is None:
        return
    was = {task.id: task for task in read_plan(plan.before or b"", suite.plan).tasks}
    for task in suite.tasks:
        before = was.get(task.id)
        if before is None or before.spec != task.spec or before.status is not task.status:
            text = f"the section of {task.id} has changed"
            why = Why(Basis.TEST, suite.plan, task.line, text)
            yield Affected(task.id, suite.ids_of(task, settings), (why,))


def _unite(every: Iterable[Affected]) -> tuple[Affected, ...]:
    """One entry a task, all its contracts and reasons together, in the order they came."""
    found: dict[str, Affected] = {}
    for one in every:
        known = found.get(one.task)
        if known is None:
            found[one.task] = one
            continue
        tests, more = dict(known.tests), dict(one.tests)
        # A contract without tests beside it is meant whole: a list of the other answer's would
        # narrow it.
        partial = {
            name: tuple(sorted({*tests.get(name, ()), *more.get(name, ())}))
            for name in {*tests, *more}
            if (name in tests or name not in known.contracts)
            and (name in more or name not in one.contracts)
        }
        found[one.task] = Affected(
            one.task,
            tuple(dict.fromkeys((*known.contracts, *one.contracts))),
            tuple(dict.fromkeys((*known.reasons, *one.reasons))),
            tuple(sorted(partial.items())),
        )
    return tuple(found.values())


def name_all(selected: Iterable[Affected]) -> frozenset[tuple[str, str]]:
    """Task and contract of each."""
    return frozenset((one.task, id_) for one in selected for id_ in one.contracts)


# --- without one ----------------------------------------------------------------------


FILE = "gate-map.json"
_FORMAT = 1
_LARGEST = 256 << 20
"""Bytes of a map that is read."""
_FIRST_PARENTS = 10_000
"""Commits of the base's own line in which a map's commit is looked for."""


@dataclass(frozen=True, slots=True)
class TestMap:
    """What every file of tests ran on one commit of the base."""

    __test__ = False

    commit: str
    seconds: float
    """How long all tests together took there."""
    files: Mapping[str, tuple[Observed, ...]] = field(default_factory=dict)


def make_map(
    commit: str,
    seconds: float,
    ran: Iterable[Reproven],
    content: Callable[[str], bytes | None],
) -> TestMap:
    """Of runs of one file of tests each: so what a fixture or another process ran is that file's.

    A file whose tests did not pass stopped somewhere, so it is left out: imports answer for it.
    """
    rows = {
        one.contract: make_observed_rows(one.contract, one.observed, content)
        for one in ran
        if one.observed and not one.failed
    }
    return TestMap(commit, seconds, {owner: some for owner, some in rows.items() if some})


def write_map(file: Path, made: TestMap) -> None:
    """Keep it. Raises RunnerError where the file cannot be written."""
    body = {
        "kind": "runner gate map",
        "v": _FORMAT,
        "runner": __version__,
        "commit": made.commit,
        "seconds": made.seconds,
        "files": {
            owner: [[row.test, row.path, row.digest, row.lines] for row in rows]
            for owner, rows in made.files.items()
        },
    }
    data = json.dumps(body, separators=(",", ":")).encode("utf-8", "surrogateescape")
    try:
        effects.make_folder(file.parent)
        effects.write_file(file, data, mode=0o644, durable=False)
    except OSError as error:
        message = f"the test map cannot be written: {error.strerror}"
        raise RunnerError(message, where=str(file)) from error


def load_map(
    file: Path, project: Project, repository: Repository, base: str, head: str
) -> tuple[TestMap | None, str]:
    """The map, or none and why in words."""
    if _comes_with(project, repository, file, head):
        return None, "the test map is part of the pull request: not used"
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError:
        return (
            None,
            "no test map yet: tests selected by imports alone (runner gate --record)",
        )
    try:
        found = _read(data)
    # A cache is filled by any job: `float` of a number with 400 digits overflows, and lists in
    # lists end the reader.
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None, "the test map is damaged: tests selected by imports"
    if not _is_of_base(repository, found.commit, base):
        commit = found.commit[:12]
        return None, f"the test map is for {commit}, not a commit of the base: not used"
    return found, ""


def _read(data: bytes) -> TestMap:
    if len(data) > _LARGEST:
        raise ValueError
    body = json.loads(data)
    commit = str(body["commit"])
    if body["v"] != _FORMAT or not (commit.isalnum() and commit.isascii()):
        raise ValueError
    files = {
        str(owner): tuple(Observed(str(owner), *map(str, row)) for row in rows)
        for owner, rows in body["files"].items()
    }
    return TestMap(commit, float(body["seconds"]), files)


def _is_of_base(repository: Repository, commit: str, base: str) -> bool:
    words = ("rev-list", "--first-parent", f"--max-count={_FIRST_PARENTS}", "--end-of-options")
    return commit in text(repository.git.run(*words, base)).split("\n")


def _comes_with(project: Project, repository: Repository, file: Path, head: str) -> bool:
    """Whether the pull request holds a file at the map's place."""
    real = file.resolve()
    if not real.is_relative_to(project.root.resolve()):
        return False
    path = real.relative_to(project.root.resolve()).as_posix()
    return path in repository.tree_entries(head, (path,))


def keep_in(store: ImpactStore, found: TestMap) -> Observations:
    """What a question about a change looks up."""
    observations = Observations(store)
    observations.keep(TESTS, _rows(found))
    return observations


def _rows(found: TestMap) -> Iterator[Observed]:
    for rows in found.files.values():
        yield from rows
