"""Check before a build whether the remote accepts updates of its branch.

A protected branch answers only to a push. One is made that cannot be carried out: together with
the branch a ref below it is asked for, and git keeps no two refs of which one is a folder of the
other. The push is atomic, so nothing moves, whatever the remote allows; of each ref it says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode
from runner.repo.remote import PublishError
from runner.text.display import display

if TYPE_CHECKING:
    from runner.repo.read import Repository
    from runner.repo.remote import Remote
    from runner.run.landing.lease_state import LeaseMemory

_DECLINED = ("declined", "protected")
"""Words of git's hooks and the forges for a rejection; other failures differ."""


def find_protection(remote: Remote, repository: Repository, branch: str, tip: str) -> str | None:
    """Return why the remote would reject a landing; empty if it accepts one, None if unknown.

    None where it does not say, or declines every push of such names: the first landing tells.
    """
    message = repository.git.ask("log", "-1", "--format=%B", tip).out.decode("utf-8", "replace")
    tree = repository.git.line("rev-parse", f"{tip}^{{tree}}")
    commit = remote.write_commit(message, tree=tree, parent=tip)
    ref = f"refs/heads/{branch}"
    below = f"{ref}/probe-{effects.new_id()}"
    refusals = remote.probe_refusal(commit, ref, below)
    if not any(word in refusals.get(ref, "") for word in _DECLINED):
        return "" if ref in refusals else None
    # A rule about all new refs also rejects the probe's own name: then nothing is known about the
    # branch.
    alone = remote.probe_refusal(commit, below)
    is_name = any(word in alone.get(below, "") for word in _DECLINED)
    return None if is_name else refusals[ref]


def require_open(
    remote: Remote, repository: Repository, branch: str, tip: str | None, memory: LeaseMemory
) -> None:
    """Raise PublishError, exit 2, where nothing could land; asked once, until one is refused."""
    if tip is None or memory.is_open(branch):
        return
    refusal = find_protection(remote, repository, branch, tip)
    if refusal:
        shown, name = display(branch), display(remote.name)
        raise PublishError(
            f"{name} does not accept pushes to {shown}: {display(refusal)}",
            hint="runner run --branch NAME, then open a pull request; or RUNNER_GIT_PUBLISH=none",
            code=ExitCode.USAGE,
        )
    if refusal is not None:
        memory.keep_open(branch, is_open=True)
