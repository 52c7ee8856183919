"""What a task is to be told beside its own words, gathered from the commit that it starts on.

The text of the tests that a task is proven by: the files that its test contracts name.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from runner.context.decisions import PATH as DECISIONS
from runner.context.decisions import decisions_for, read_decisions
from runner.context.skills import Skills, skills_of
from runner.context.tree import Tree
from runner.errors import RunnerError
from runner.impact.targets import target_of
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.globs import is_glob
from runner.plan.ownership import OwnershipMap
from runner.plan.task_types import Kind, kind_of, moves_data
from runner.repo.head import OWNERSHIP_MAP, find_git
from runner.repo.read import Repository
from runner.writes.safe_io import read_beneath

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context import import_neighbours, index, outline_cache
    from runner.context.decisions import Recorded
    from runner.context.files import ContextFile
    from runner.context.patterns import MatchedPattern
    from runner.model import Task, TaskPlan
else:
    import_neighbours = lazy_module("runner.context.import_neighbours")
    index = lazy_module("runner.context.index")
    outline_cache = lazy_module("runner.context.outline_cache")


_MOST_OF_A_FOLDER = 6


class ProvingText(NamedTuple):
    """A file that a test contract runs, as it is at the base."""

    contract: str
    """`TC-002`."""
    path: str
    text: str


def test_texts(task: Task, tree: Tree) -> tuple[ProvingText, ...]:
    """The named files that are there, each once; of a folder its first tests."""
    found: dict[str, ProvingText] = {}
    for contract in task.test_contracts:
        target = target_of(contract.command, tree)
        files = (*target.files, *(one for folder in target.folders for one in _in(folder, tree)))
        for path in files:
            text, _ = tree.text(path)
            if text.strip() and path not in found:
                found[path] = ProvingText(contract.id, path, text)
    return tuple(found.values())


def _in(folder: str, tree: Tree) -> list[str]:
    """The tests that lie in a folder, those at its top first."""
    below = [path for path in tree.files if path.startswith(f"{folder}/") and _is_test(path)]
    return sorted(below, key=lambda path: (path.count("/"), path))[:_MOST_OF_A_FOLDER]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "test" in name.casefold() or "spec" in name.casefold()


_SPAN = regex(r"`([^`\n]+)`")
_MOST_ASKED = 12
"""Files of one task whose neighbours count in the index."""
_MOST_FILES = 200
"""Files of one task that owners and decisions are asked for."""


@dataclass(frozen=True, slots=True)
class GatheredContext:
    """Everything but the task itself."""

    kind: Kind = field(default_factory=Kind)
    tests: tuple[ProvingText, ...] = ()
    skills: Skills = field(default_factory=Skills)
    decisions: tuple[Recorded, ...] = ()
    files: tuple[ContextFile, ...] = ()
    index: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    """Files that the task names to be read, and why they are not shown."""
    asks_old_data: bool = False
    """Whether a test is asked for that old data still reads."""


def surroundings_at(
    root: Path,
    commit: str,
    task: Task,
    settings: Settings,
    *,
    patterns: tuple[MatchedPattern, ...] = (),
    plan: TaskPlan | None = None,
    cache: Path | None = None,
) -> GatheredContext:
    """The surroundings of a task that starts on this commit of the repository in `root`.

    Where there is no repository or no commit yet, no file is shown. Raises GitError.
    """
    if not commit or find_git(root) is None:
        return surroundings_of(root, Tree(), task, settings, patterns=patterns, plan=plan)
    with Repository.open(root) as repository:
        tree = Tree.of(repository, commit, settings)
        return surroundings_of(
            root, tree, task, settings, patterns=patterns, plan=plan, cache=cache
        )


def surroundings_of(
    root: Path,
    tree: Tree,
    task: Task,
    settings: Settings,
    *,
    patterns: tuple[MatchedPattern, ...] = (),
    plan: TaskPlan | None = None,
    cache: Path | None = None,
) -> GatheredContext:
    """Gather it: files from `tree`, the runner's own documents as they stand in `root` now.

    `plan` is the approved plan of the attempt; `cache` the user's folder for this repository.
    """
    # these read source, which takes more to import than a run with nothing to do has time for
    from runner.context.files import Wanted, context_files

    kind = kind_of(task, plan.type if plan else "")
    planned = tuple(dict.fromkeys((*plan.files, *plan.context))) if plan else ()
    proving = test_texts(task, tree)
    wanted = Wanted(
        task=task,
        kind=kind,
        planned=planned,
        examples=_examples(patterns, tree),
        told=frozenset(one.path for one in proving),
    )
    own = _own(task, planned, tree)
    with outline_cache.outlines_of(tree, cache) as outlines:
        neighbours = import_neighbours.Neighbours(tree, outlines)
        shown = context_files(tree, neighbours, wanted, settings.context_tokens)
        near = import_neighbours.around(neighbours, own[:_MOST_ASKED], users_first=False)
        lines = index.file_index(outlines.by_path, task, seeds=own, near=near)
    return GatheredContext(
        kind=kind,
        tests=proving,
        skills=skills_of(tree, settings, kind, is_planned=plan is not None),
        decisions=_decisions(root, task, own),
        files=shown,
        index=lines,
        not_shown=tuple(_not_shown(task, tree)),
        asks_old_data=moves_data(task, kind),
    )


def _own(task: Task, planned: tuple[str, ...], tree: Tree) -> tuple[str, ...]:
    """The files in question: of the plan, else those the task may write, there or not yet."""
    if planned:
        return planned[:_MOST_FILES]
    outputs = () if task.writes_everything else task.outputs
    named = (path.removeprefix("./") for path in outputs if not is_glob(path))
    return tuple(dict.fromkeys((*named, *tree.match(outputs))))[:_MOST_FILES]


def _examples(patterns: Iterable[MatchedPattern], tree: Tree) -> tuple[str, ...]:
    """The files of the repository that the text of a pattern names."""
    spans = (span.strip() for one in patterns for span in _SPAN.findall(one.text))
    return tuple(dict.fromkeys(span for span in spans if tree.is_file(span)))


def _decisions(root: Path, task: Task, own: tuple[str, ...]) -> tuple[Recorded, ...]:
    recorded = read_decisions(_document(root, DECISIONS))
    if not recorded:
        return ()

    owners = OwnershipMap.read(_document(root, OWNERSHIP_MAP).encode())
    owning = {id_ for path in own for id_ in owners.owners(path)} - {task.id}
    files = (*own, *task.inputs)
    return decisions_for(recorded, task=task.id, needs=task.depends_on, owners=owning, files=files)


def _document(root: Path, path: str) -> str:
    """A document of the runner's as it stands now: this run has written into it, too."""
    try:
        return (read_beneath(root, path) or b"").decode("utf-8", "replace")
    except RunnerError:  # a link, say: whoever writes it will say so
        return ""


def _not_shown(task: Task, tree: Tree) -> Iterable[str]:
    """Files that the task names to be read, and that are not shown."""
    for path in (one.removeprefix("./") for one in task.inputs if not is_glob(one)):
        _, why = tree.text(path)
        if why and not tree.is_folder(path.rstrip("/")):
            yield why
