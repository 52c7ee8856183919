"""Publish a branch at the end: built as `unpublished/NAME`, then moved by one push.

The lease is that of NAME, held as ever; landings stay here, so nobody else has to take half of a
build along. What moved in the remote meanwhile is merged, by git's object database alone, and
proven with it before the push; the person's own NAME follows the remote's. Commits keep their ids,
which the journal knows: so the two lines are merged, and none is rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.repo.head import UNPUBLISHED
from runner.repo.merge import merge_commits
from runner.repo.objects import DURABLE
from runner.repo.remote import PublishError, Remote, Swap
from runner.run.landing.branch_lease import PUBLISHING, BranchLease, is_here, make_missing_error
from runner.run.landing.lease_state import LeaseMemory
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.repo.head import Head
    from runner.repo.read import Repository

HEADS = "refs/heads/"
_APART = f"{HEADS}{UNPUBLISHED}"


class EndLease(BranchLease):
    """The lease of a branch that is built under another name; nothing lands in the remote by it."""

    def _require_tip(self, seen: Mapping[str, str]) -> None:
        """Check that the remote has the branch, and fetch its tip if needed."""
        tip = seen.get(self._branch_ref)
        if tip is None:
            raise make_missing_error(self.name, self.branch)
        if not is_here(self.repository, tip):
            self._remote.fetch_into(self.repository, tip)

    def look_again(self) -> str:
        """Return the tip of the remote's branch, fetched if needed. Raises RemoteDownError."""
        with self._lock:
            seen = self._remote.read(self._branch_ref)
            self._require_tip(seen)
            self._tip = seen[self._branch_ref]
            return self._tip

    def publish(self, commit: str) -> None:
        """Move the remote's branch to a commit that stands on its tip.

        Raises PublishError where it did not move, RunnerError where that is not known.
        """
        with self._lock:
            if self.trouble:
                raise self._make_trouble()
            self.repository.git.with_settings(DURABLE).run("update-ref", PUBLISHING, commit)
            came = self._swap_with_branch(commit)
            if came.seen.get(self._branch_ref) == commit:
                self._tip = commit
                return
        if not self.trouble and came.swap is Swap.MOVED:
            whose = f"{display(self.branch)} of {display(self.name)}"
            self.trouble = f"somebody pushed to {whose} during publishing"
        self.trouble = self.trouble or self._explain(came)
        raise PublishError(self.trouble, hint="run again: runner run", code=ExitCode.CONFLICT)


def open_lease(
    repository: Repository, name: str, seconds: float, environ: Mapping[str, str], cache: Path
) -> BranchLease:
    """Create the lease of the current branch without reading it. Raises RunnerError.

    `name` is the remote's, `cache` the user's folder for what can be made anew of this clone.
    """
    head = _require_branch(repository)
    memory = LeaseMemory(cache)
    if head.ref.startswith(_APART):
        branch = head.ref.removeprefix(_APART)
        return EndLease(repository, name, branch, environ, memory, seconds)
    branch = head.ref.removeprefix(HEADS)
    return BranchLease(repository, name, branch, environ, memory, seconds)


def _require_branch(repository: Repository) -> Head:
    """Return HEAD. Raises RunnerError if it is no branch."""
    head = repository.find_head()
    if head.detached or not head.ref.startswith(HEADS):
        raise RunnerError("publish needs a branch, but none is checked out", hint="git switch NAME")
    return head


def switch_to_unpublished(repository: Repository, name: str, environ: Mapping[str, str]) -> str:
    """Switch to the unpublished branch, updated from the remote. Raises PublishError.

    `name` is the remote's; gives the branch. Raises PublishError, and RemoteDownError.
    """
    head = _require_branch(repository)
    branch = head.ref.removeprefix(_APART).removeprefix(HEADS)
    ref, apart = f"{HEADS}{branch}", f"{_APART}{branch}"
    with Remote(repository, name, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            raise make_missing_error(name, branch)
        if not is_here(repository, tip):
            remote.fetch_into(repository, tip)
    if head.ref == ref:
        _leave(repository, name, branch, tip)
    join(repository, name, branch, tip)
    return apart.removeprefix(HEADS)


def _leave(repository: Repository, name: str, branch: str, tip: str) -> None:
    """Switch from the branch to its unpublished one, which continues from its last commit."""
    here, apart = repository.resolve(f"{HEADS}{branch}") or "", f"{_APART}{branch}"
    if not repository.is_ancestor(here, tip):
        raise PublishError(
            f"{display(branch)} has commits that {display(name)} does not have: "
            "publishing would push them as well",
            hint=f"git push {display(name)} {display(branch)}, then run again",
            code=ExitCode.PERSON,
        )
    before = repository.resolve(apart)
    if before is None or repository.is_ancestor(before, here):
        # An empty old value requires that the ref does not exist (git-update-ref(1)).
        repository.git.run("update-ref", apart, here, before or "")
    _do(repository, "switch", "--quiet", "--no-guess", apart.removeprefix(HEADS))


def join(repository: Repository, name: str, branch: str, tip: str) -> bool:
    """Merge the remote's tip into the checked-out branch; True if that changed anything.

    Raises PublishError where both changed the same lines, or a file is in the way.
    """
    head = repository.find_head().commit or ""
    merged = merge_commits(repository, tip, head)
    if merged.conflicts:
        paths = ", ".join(display(path) for path in merged.conflicts[:5])
        raise PublishError(
            f"{display(name)} has commits of {display(branch)} that conflict with what "
            f"was built here: {paths}",
            hint=f"git pull --no-rebase {display(name)} {display(branch)}, resolve and commit; "
            "then run again",
            code=ExitCode.CONFLICT,
        )
    if merged.commit == head:
        return False
    _do(repository, "merge", "--quiet", "--ff-only", merged.commit)
    return True


def has_merges(repository: Repository, tip: str) -> bool:
    """Return whether HEAD has merges that the remote tip does not contain."""
    words = ("rev-list", "--merges", "--max-count=1", "HEAD", f"^{tip}")
    return bool(repository.git.run(*words).strip())


def return_to_branch(repository: Repository) -> str:
    """Move the branch to what was published of it, and be on it again; why not, in words."""
    head = repository.find_head()
    branch, commit = head.ref.removeprefix(_APART), head.commit or ""
    ref = f"{HEADS}{branch}"
    here = repository.resolve(ref)
    if here is not None and not repository.is_ancestor(here, commit):
        return f"{display(branch)} here has unpublished commits: git merge {head.branch}"
    if repository.git.line("for-each-ref", "--format=%(worktreepath)", ref):
        return f"{display(branch)} is checked out elsewhere: git merge {head.branch} there"
    git = repository.git.with_settings(DURABLE)
    # Order matters: after a crash in between, HEAD is on a branch that has all of it.
    git.run("update-ref", ref, commit, here or "")
    # the same commit under another name: index and files stay unchanged
    git.run("symbolic-ref", "-m", "runner: published", "HEAD", ref)
    git.run("update-ref", "-d", head.ref, commit)
    return ""


def _do(repository: Repository, *words: str) -> None:
    # Switching and merging would run the post-checkout and post-merge hooks (githooks(5)), which
    # are unwanted here.
    answer = repository.git.ask("-c", "core.hooksPath=/dev/null", *words)
    if answer.exit:
        raise PublishError(
            f"git {words[0]} failed",
            detail=display(answer.stderr.strip()[-1000:], lines=True),
            hint="commit or stash the conflicting changes, then run again",
            code=ExitCode.CONFLICT,
        )
