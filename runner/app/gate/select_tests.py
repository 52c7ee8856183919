"""Select the tests that a gate or pull request needs, by the plan or by an import map.

The map keeps what the tests of a base were seen to run; a cache or an artifact carries its file. It
counts if its commit is a first-parent ancestor of the base branch, and the pull request did not
bring the file. Every row names the bytes that ran: a row about other bytes counts no more than an
import.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import __version__, effects
from runner.app.change.impact_question import evaluate_impact
from runner.app.gate.test_suite import TESTS
from runner.errors import RunnerError
from runner.gates.coverage.lines import make_observed_rows
from runner.gates.test_paths import is_test_path
from runner.impact.answer import Affected, Basis, Impacted, Why, Width
from runner.impact.change import Changed, governs
from runner.impact.traces import Observations
from runner.languages.registry import code_row
from runner.model import Observed
from runner.plan.document import read_plan
from runner.repo.git import text
from runner.repo.merge import merge_commits
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.gate.test_suite import TestSuite
    from runner.app.prove.prove_tree import Reproven
    from runner.config.settings import Settings
    from runner.impact.inputs import Knowledge
    from runner.impact.store import ImpactStore
    from runner.project import Project
    from runner.repo.merge import MergeResult
    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange

_PLAIN = frozenset({0o100644, 0o100755})
_NAMED_BY = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
"""Variables in which GitHub Actions and GitLab CI name the target branch."""
_USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_OF_CI = re.compile(
    r"\A(?:\.github/(?:workflows|actions)/|\.gitlab-ci|\.gitlab/ci/|\.circleci/|\.buildkite/"
    r"|\.ci/|ci/)|(?:\A|/)(?:Jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|\.gitattributes"
    r"|\.gitmodules|Dockerfile[\w.-]*|docker-compose[\w.-]*\.ya?ml)\Z"
)
_PROSE = re.compile(
    r"\.(?:md|rst|adoc|png|jpe?g|gif|svg|ico)\Z"
    r"|(?:\A|/)(?:LICEN[CS]E|COPYING|NOTICE|CODEOWNERS|\.gitignore)(?:\.\w+)?\Z"
    r"|(?:\A|/)(?:AUTHORS|CHANGELOG)[^/]*\Z|(?<!CMakeLists)\.txt\Z"
)


# --- with a plan ----------------------------------------------------------------------


def select(
    found: MeasuredPullRequest, knowledge: Knowledge, suite: TestSuite, settings: Settings
) -> tuple[tuple[Affected, ...], str]:
    """Return the tasks that a change may affect, and why everything must run; empty if it need not.

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
    """Return the undecided reason that selected every task; empty if there is none."""
    if not suite.tasks or {task.id for task in suite.tasks} - {one.task for one in selected}:
        return ""
    whys = [
        next((why for why in one.reasons if why.kind is Basis.UNDECIDED), None) for one in selected
    ]
    return whys[0].text if whys and whys[0] and all(whys) else ""


def _find_edited(
    changes: Iterable[Changed], suite: TestSuite, settings: Settings
) -> Iterator[Affected]:
    """Yield the tasks whose section in the plan the pull request changes."""
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
    """Merge entries of a task into one with all contracts and reasons, in input order."""
    found: dict[str, Affected] = {}
    for one in every:
        known = found.get(one.task)
        if known is None:
            found[one.task] = one
            continue
        tests, more = dict(known.tests), dict(one.tests)
        # A contract without a list of tests means all of them: the other answer's list would narrow
        # it.
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
    """Return the pairs of task and contract that are selected."""
    return frozenset((one.task, id_) for one in selected for id_ in one.contracts)


# --- without one ----------------------------------------------------------------------


FILE = "gate-map.json"
_FORMAT = 1
_LARGEST = 256 << 20
"""Largest map that is read, in bytes."""
_FIRST_PARENTS = 10_000
"""First-parent commits of the base that are searched for a map's commit."""


class TestMap(Struct, frozen=True):
    """The files that each test file ran on one commit of the base."""

    __test__ = False

    commit: str
    seconds: float
    """Seconds of all tests together in that run."""
    files: Mapping[str, tuple[Observed, ...]] = field(default_factory=dict)


def make_map(
    commit: str,
    seconds: float,
    ran: Iterable[Reproven],
    content: Callable[[str], bytes | None],
) -> TestMap:
    """Build a map from separate runs of test files, so that each entry belongs to one file.

    A file whose tests did not pass stopped somewhere, so it is left out: imports answer for it.
    """
    rows = {
        one.contract: make_observed_rows(one.contract, one.observed, content)
        for one in ran
        if one.observed and not one.failed
    }
    return TestMap(commit, seconds, {owner: some for owner, some in rows.items() if some})


def write_map(file: Path, made: TestMap) -> None:
    """Write the map. Raises RunnerError if the file cannot be written."""
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
    """Load the test map; return None and the reason if it cannot be used."""
    if _brings_map(project, repository, file, head):
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
    # Any job can fill a cache: `float` of 400 digits overflows, and deeply nested lists break the
    # parser.
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


def _brings_map(project: Project, repository: Repository, file: Path, head: str) -> bool:
    """Return whether the pull request contains the map file."""
    real = file.resolve()
    if not real.is_relative_to(project.root.resolve()):
        return False
    path = real.relative_to(project.root.resolve()).as_posix()
    return path in repository.tree_entries(head, (path,))


def keep_in(store: ImpactStore, found: TestMap) -> Observations:
    """Save the map as observations in the store and return them."""
    observations = Observations(store)
    observations.keep(TESTS, _rows(found))
    return observations


def _rows(found: TestMap) -> Iterator[Observed]:
    for rows in found.files.values():
        yield from rows


class MeasuredPullRequest(Struct, frozen=True):
    """The pull request being measured."""

    base_name: str
    """Name of the base as given, or as found: `origin/main`."""
    merge: MergeResult
    changes: tuple[Changed, ...] = ()
    """Changes that the merge makes to the base; empty for a conflict."""
    whole: str = ""
    """Why a part of the tests is not enough; empty if it is."""
    prose: frozenset[str] = frozenset()
    """Changed documentation files; they count only if code names them."""


def open_pull_request(
    repository: Repository,
    base: str,
    head: str,
    environ: Mapping[str, str],
    runs_prose: Callable[[str], bool],
) -> MeasuredPullRequest:
    """Merge and compare. Raises RunnerError for a revision that there is not.

    `base` may be empty: the branch that the CI server names, else the remote's own. `runs_prose`
    says of a commit whether its tests run what stands in files that people read.
    """
    name = base or find_base_name(repository, environ)
    merge = merge_commits(repository, _resolve(repository, name), _resolve(repository, head))
    if merge.conflicts or not merge.commit:
        return MeasuredPullRequest(name, merge)
    found = tuple(find_changes(repository, merge.base, merge.commit))
    differing = repository.diff_trees(merge.base, merge.commit)
    prose = frozenset(one.path for one in found if _is_document(one.path))
    prose = prose if not runs_prose(merge.commit) else frozenset()
    return MeasuredPullRequest(name, merge, found, _explain_whole(differing), prose)


def _is_document(path: str) -> bool:
    """Return whether people read a file; code, and plain text of tests, is no document."""
    is_data = path.endswith(".txt") and is_test_path(path)
    return bool(_PROSE.search(path)) and code_row(path) is None and not is_data


def find_base_name(repository: Repository, environ: Mapping[str, str]) -> str:
    """Return the name of the target branch. Raises RunnerError if it cannot be determined."""
    branch = next((environ[name] for name in _NAMED_BY if environ.get(name)), "")
    # Remote first: a local branch of that name is only as new as its last pull.
    names = (f"origin/{branch}", branch) if branch else _USUAL
    for name in names:
        if repository.resolve(name) is not None:
            return name
    if branch:
        raise RunnerError(
            "the target branch is not in this clone",
            where=display(branch),
            hint=f"git fetch origin {display(branch)}; in GitHub Actions: fetch-depth: 0",
        )
    hint = "name it: runner gate --base REV"
    raise RunnerError("the target branch is unknown", hint=hint)


def find_changes(repository: Repository, old: str, new: str) -> Iterator[Changed]:
    """Yield the files of the project that differ between two commits."""
    for one in repository.diff_trees(old, new):
        if not one.path.startswith("../"):
            before = repository.content(one.old_sha) if one.old_mode in _PLAIN else None
            after = repository.content(one.new_sha) if one.new_mode in _PLAIN else None
            yield Changed(one.path, before, after)


def _resolve(repository: Repository, name: str) -> str:
    commit = repository.resolve(name)
    if commit is None:
        hint = "name a commit, branch or tag of this clone, or run git fetch first"
        raise RunnerError("unknown revision", where=display(name), hint=hint)
    return commit


def _explain_whole(differing: tuple[TreeChange, ...]) -> str:
    """Return why all tests must run, by the first changed file with unknown effects, or ""."""
    for one in differing:
        path = display(one.path)
        if governs(one.path):
            return f"{path} configures tests, builds or dependencies"
        if _OF_CI.search(one.path.removeprefix("../")):
            return f"{path} defines how tests are run"
        if {one.old_mode, one.new_mode} - {0, *_PLAIN}:
            return f"{path} is or was a link or a submodule"
        if 0 not in (one.old_mode, one.new_mode) and one.old_mode != one.new_mode:
            return f"{path} has a changed executable bit"
        if one.path.startswith("../"):
            return f"{path} is outside the project"
    return ""
