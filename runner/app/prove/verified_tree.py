"""What is known of the tree that a run finds with nothing to do: whether it was proven whole."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import runner
from runner import effects
from runner.errors import ExitCode
from runner.model import digest_of

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.model import Digest
    from runner.project import Project
    from runner.repo.read import Repository


_KEPT = "trees-as-named.json"


@dataclass(frozen=True, slots=True)
class Known:
    """What a run that builds nothing says of the tree that it finds."""

    said: str = ""
    code: ExitCode = ExitCode.OK


def find_verification(
    project: Project, state: RunState, head: str, repository: Repository | None = None
) -> Known:
    """Whether everything that is DONE was proven together on `head`, and what that said.

    Git is asked only where another commit was proven last: it may differ in the runner's own
    documents alone.
    """
    if not (project.settings.verify_at_end and head):
        return Known()
    if state.whole_head == head:
        fell_short = bool(state.failed_tree)
    elif not (state.failed_tree or state.verified_tree):
        return Known("note: not verified as a whole: runner verify --all")
    else:
        keys = _keys(project, state, head, repository)
        fell_short = state.failed_tree in keys
        if not fell_short and state.verified_tree not in keys:
            last = f" since {state.whole_head[:12]}" if state.whole_head else ""
            return Known(f"note: not verified as a whole{last}: runner verify --all")
    if not fell_short:
        return Known()
    said = "this very tree fell short when it was last verified: runner verify --all says where"
    return Known(said, ExitCode.FAILED)


def _keys(
    project: Project, state: RunState, head: str, repository: Repository | None
) -> frozenset[Digest]:
    """Under what this tree may be known: with the tasks that a person only called DONE, or not."""
    from runner.app.build.discovered_gates import take_up_default_gates
    from runner.run.proof.same_tree import list_proofs

    take_up_default_gates(project)
    tasks = project.outline().tasks
    some = [task for task in tasks if state.task(task.id).verified]
    documents, settings = project.documents, project.settings
    subjects = (tasks, some) if len(some) != len(tasks) else (tasks,)
    said = [(sorted(documents), list_proofs(ones, settings)) for ones in subjects]
    asked = digest_of(repr((runner.__version__, head, said)).encode("utf-8", "surrogatepass"))
    known = _read_kept(project, asked)
    if known:
        return known
    from runner.repo.read import Repository
    from runner.run.proof.same_tree import tree_key

    with nullcontext(repository) if repository else Repository.open(project.root) as opened:
        keys = [tree_key(opened, head, documents, ones, settings) for ones in subjects]
    with suppress(OSError):  # git is asked again next time; nothing else is lost
        effects.make_folder(project.cache)
        data = json.dumps({"asked": asked, "keys": keys}).encode()
        effects.write_file(project.cache / _KEPT, data, mode=0o600)
    return frozenset(keys)


def _read_kept(project: Project, asked: Digest) -> frozenset[Digest]:
    """What git said when it was asked the same; a commit's files never change."""
    try:
        kept = cast("dict[str, Any]", json.loads((project.cache / _KEPT).read_bytes()))
        return frozenset(map(str, kept["keys"])) if kept["asked"] == asked else frozenset()
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset()
