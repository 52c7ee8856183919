"""What two commits are when they are merged, as a commit that no branch holds.

Git merges in its object database alone (git-merge-tree(1), `--write-tree`, git 2.38 and newer),
from a git folder of its own: programs that the repository's configuration names for merging
(gitattributes(5), "Defining a custom merge driver") are a clone's, and none of them runs. So files
with such an attribute are merged by lines, as forges do.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.repo.alternates import lay_out
from runner.repo.git import Git, GitError, text

if TYPE_CHECKING:
    from runner.repo.read import Repository

_CONFLICT = 1
"""Exit code of git-merge-tree(1) for a merge that is not clean."""
_USAGE = 129
"""Exit code of git for options that it does not know (usage.c)."""
_WHO = {
    f"GIT_{role}_{part}": said
    for role in ("AUTHOR", "COMMITTER")
    for part, said in (("NAME", "runner"), ("EMAIL", "runner@localhost"))
}


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Two commits and what comes of merging them."""

    base: str
    head: str
    commit: str
    """The merged commit: one of the two where it holds the other; empty for a conflict."""
    conflicts: tuple[str, ...] = ()
    """Paths, relative to the project, that a person has to merge."""


def merge_commits(repository: Repository, base: str, head: str) -> MergeResult:
    """Merge `head` into `base` without touching work tree, index or any ref.

    New objects are loose ones that nothing holds: git's own collection takes them away in time.
    Raises RunnerError where the commits have no common history here, or git is too old.
    """
    if repository.is_ancestor(base, head):
        return MergeResult(base, head, head)
    if repository.is_ancestor(head, base):
        return MergeResult(base, head, base)
    if repository.merge_base(base, head) is None:
        raise _make_unrelated(repository)
    with TemporaryDirectory(prefix="runner-merge-") as box:
        git = _git_apart(repository, Path(box))
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z")
        answer = git.ask(*words, base, head)
        if answer.exit == _USAGE:
            hint = "git 2.38 or newer merges without a work tree; git --version"
            raise RunnerError("this git is too old to merge for a gate", hint=hint)
        if answer.exit not in (0, _CONFLICT):
            raise GitError("merge-tree", answer.said, answer.exit)
        tree, *paths = text(answer.out).split("\0")
        if answer.exit == _CONFLICT:
            inside = (repository.prefix.inside(path) for path in paths if path)
            return MergeResult(base, head, "", tuple(dict.fromkeys(inside)))
        message = f"Merge {head} into {base}"
        commit = git.line("commit-tree", "-p", base, "-p", head, "-m", message, tree.strip())
    return MergeResult(base, head, commit)


def _git_apart(repository: Repository, box: Path) -> Git:
    """Git in a folder with no configuration but ours, on the repository's own objects."""
    lay_out(box, repository.lender(), (), "ref: refs/heads/none")
    (box / "info" / "attributes").write_bytes(b"")  # ours for scratch trees say `-merge`
    # the same two commits merged again are the same commit: what was proven of it still stands
    when = {f"GIT_{role}_DATE": "1700000000 +0000" for role in ("AUTHOR", "COMMITTER")}
    place = {"GIT_DIR": str(box), "GIT_OBJECT_DIRECTORY": str(repository.folders.objects)}
    return Git(box, {**_WHO, **when, **place}, alone=True)


def _make_unrelated(repository: Repository) -> RunnerError:
    if (repository.folders.common / "shallow").is_file():
        return RunnerError(
            "this clone is too shallow: it does not hold where base and pull request part",
            hint="git fetch --unshallow; in GitHub Actions: actions/checkout with fetch-depth: 0",
        )
    return RunnerError(
        "base and pull request share no history",
        hint="name the branch it is to be merged into: --base REV",
        code=ExitCode.PERSON,
    )
