"""A pull request: two commits, what they are when merged, and what that changes at the base."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.gates.test_paths import is_test_path
from runner.impact.change import Changed, governs
from runner.languages.registry import code_row
from runner.lazy_dataclass import dataclass
from runner.repo.merge import merge_commits
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.repo.merge import MergeResult
    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange

_PLAIN = frozenset({0o100644, 0o100755})
_NAMED_BY = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
"""Variables in which GitHub Actions and GitLab CI say into which branch it is to be merged."""
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


@dataclass(frozen=True, slots=True)
class MeasuredPullRequest:
    """What is measured."""

    base_name: str
    """As it was named, or found: `origin/main`."""
    merge: MergeResult
    changes: tuple[Changed, ...] = ()
    """What merging it does to the base; none for a conflict."""
    whole: str = ""
    """Why a part of the tests cannot answer for it; empty where it may."""
    prose: frozenset[str] = frozenset()
    """Changed files that people read; they count only where code names them."""


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
    """Into which branch it is to be merged. Raises RunnerError where nothing says so."""
    branch = next((environ[name] for name in _NAMED_BY if environ.get(name)), "")
    # The remote's first: a local branch of that name is as old as its last pull.
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
    """What differs between two commits, file by file, within the project."""
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
    """The first changed file of which nobody can say whom it reaches."""
    for one in differing:
        path = display(one.path)
        if governs(one.path):
            return f"{path} configures tests, builds or dependencies"
        if _OF_CI.search(one.path.removeprefix("../")):
            return f"{path} defines how tests are run"
        if {one.old_mode, one.new_mode} - {0, *_PLAIN}:
            return f"{path} is or was a link or a submodule"
        if 0 not in (one.old_mode, one.new_mode) and one.old_mode != one.new_mode:
            return f"{path} is executable on one side only"
        if one.path.startswith("../"):
            return f"{path} is outside the project"
    return ""
