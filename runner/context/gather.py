"""Gather a task's context from the commit that it starts on.

The text of the tests that a task is proven by: the files that its test contracts name.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner.context.patterns import PATH as DECISIONS
from runner.context.patterns import decisions_for, read_decisions
from runner.context.skills import Skills, skills_of
from runner.context.tree import CHARACTERS_A_TOKEN, Tree
from runner.errors import RunnerError
from runner.impact.targets import target_of
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.globs import is_glob
from runner.plan.ownership import OwnershipMap
from runner.plan.task_types import Extra, WorkType, classify
from runner.repo.head import OWNERSHIP_MAP, find_git
from runner.repo.read import Repository
from runner.writes.safe_io import read_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context import files
    from runner.context.files import ContextFile, FileOutline
    from runner.context.patterns import MatchedPattern, Recorded
    from runner.model import Task, TaskPlan
else:
    # lazy: it reads source, and importing it is too slow for a run with nothing to do
    files = lazy_module("runner.context.files")

_MOST_OF_A_FOLDER = 6
_CODE_SPAN = regex(r"`([^`\n]+)`")
"""Text between single backquotes on one line."""


class ProvingText(NamedTuple):
    """A file that a test contract runs, as it is at the base."""

    contract: str
    """ID of the contract: `TC-002`."""
    path: str
    text: str


def test_texts(task: Task, tree: Tree) -> tuple[ProvingText, ...]:
    """Return the existing files of the task's test contracts, each once."""
    found: dict[str, ProvingText] = {}
    for contract in task.test_contracts:
        if contract.held_out:
            continue
        target = target_of(contract.command, tree)
        files = (*target.files, *(one for folder in target.folders for one in _in(folder, tree)))
        for path in files:
            text, _ = tree.text(path)
            if text.strip() and path not in found:
                found[path] = ProvingText(contract.id, path, text)
    return tuple(found.values())


def _in(folder: str, tree: Tree) -> list[str]:
    """Return the tests in a folder, top-level ones first."""
    below = [path for path in tree.files if path.startswith(f"{folder}/") and _is_test(path)]
    return sorted(below, key=lambda path: (path.count("/"), path))[:_MOST_OF_A_FOLDER]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "test" in name.casefold() or "spec" in name.casefold()


_MOST_ASKED = 12
"""Files of one task whose neighbours count in the index."""
_MOST_FILES = 200
"""Files of one task for which owners and decisions are looked up."""


class GatheredContext(Struct, frozen=True):
    """Everything but the task itself."""

    work: WorkType = field(default_factory=WorkType)
    tests: tuple[ProvingText, ...] = ()
    skills: Skills = field(default_factory=Skills)
    decisions: tuple[Recorded, ...] = ()
    files: tuple[ContextFile, ...] = ()
    index: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    """Files that the task names as context, and why they are not shown."""
    asks_old_data: bool = False
    """Whether a test must show that old data can still be read."""


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
    """Gather the context of a task that starts on this commit. Raises GitError.

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
    work = classify(task, plan.type if plan else "")
    planned = tuple(dict.fromkeys((*plan.files, *plan.context))) if plan else ()
    proving = test_texts(task, tree)
    wanted = files.FileQuery(
        task=task,
        work=work,
        planned=planned,
        examples=_examples(patterns, tree),
        shown=frozenset(one.path for one in proving),
    )
    own = _own(task, planned, tree)
    with files.outlines_of(tree, cache) as outlines:
        neighbours = files.Neighbours(tree, outlines)
        shown = files.context_files(tree, neighbours, wanted, settings.agent.context_tokens)
        near = files.around(neighbours, own[:_MOST_ASKED], users_first=False)
        lines = file_index(outlines.by_path, task, seeds=own, near=near)
    return GatheredContext(
        work=work,
        tests=proving,
        skills=skills_of(tree, settings, work, is_planned=plan is not None),
        decisions=_decisions(root, task, own),
        files=shown,
        index=lines,
        not_shown=tuple(_not_shown(task, tree)),
        asks_old_data=work.wants(Extra.OLD_DATA),
    )


def _own(task: Task, planned: tuple[str, ...], tree: Tree) -> tuple[str, ...]:
    """Return the files of the task plan, else the files that the task may write."""
    if planned:
        return planned[:_MOST_FILES]
    outputs = () if task.writes_everything else task.outputs
    named = (path.removeprefix("./") for path in outputs if not is_glob(path))
    return tuple(dict.fromkeys((*named, *tree.match(outputs))))[:_MOST_FILES]


def _examples(patterns: Iterable[MatchedPattern], tree: Tree) -> tuple[str, ...]:
    """Return the existing files mentioned in the patterns."""
    spans = (span.strip() for one in patterns for span in _CODE_SPAN.findall(one.text))
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
    """Return the current text of one of the runner's documents; empty if it is unreadable."""
    try:
        return (read_below(root, path) or b"").decode("utf-8", "replace")
    except RunnerError:  # a link, say: whoever writes it will say so
        return ""


def _not_shown(task: Task, tree: Tree) -> Iterable[str]:
    """Yield why input files of the task are not shown."""
    for path in (one.removeprefix("./") for one in task.inputs if not is_glob(one)):
        _, why = tree.text(path)
        if why and not tree.is_folder(path.rstrip("/")):
            yield why


MOST_TOKENS = 800
_MOST_NAMES = 8
_SHORTEST_LINE = 8
_PIECES = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORTEST = 4
_MOST_SEEDS = 8
_IN_PATH, _IN_NAMES, _SEED, _TOGETHER = 3, 2, 8, 5


def file_index(
    outlines: Mapping[str, FileOutline],
    task: Task,
    *,
    seeds: Iterable[str] = (),
    near: Iterable[str] = (),
    tokens: int = MOST_TOKENS,
) -> tuple[str, ...]:
    """Return the most relevant index lines within a token limit, in path order.

    What counts is the words that a task has in common with a path and its exported names, the
    folders it shares with `seeds` (the files in question), and whether it is `near`: imported.
    """
    given = tuple(dict.fromkeys(seeds))
    # Without words the expression would be empty and match everywhere.
    wanted = regex("|".join(sorted(words_of(task))) or r"(?!)")
    neighbours = frozenset(near)
    folders: dict[str, int] = {}

    def relevance(path: str) -> int:
        folder, _, name = path.rpartition("/")
        if folder not in folders:
            folders[folder] = _IN_PATH * len({*wanted.findall(folder.casefold())}) + max(
                (files.count_shared_folders(path, seed) for seed in given[:_MOST_SEEDS]),
                default=0,
            )
        score = folders[folder] + _IN_PATH * len({*wanted.findall(name.casefold())})
        score += _IN_NAMES * len({*wanted.findall(outlines[path].names.casefold())})
        return score + (_SEED if path in given else 0) + (_TOGETHER if path in neighbours else 0)

    most = tokens * CHARACTERS_A_TOKEN
    scored = ((-relevance(path), path) for path in outlines)
    ranked = nsmallest(most // _SHORTEST_LINE, scored)
    return _fit_lines([path for _, path in ranked], outlines, most)


def _fit_lines(
    ranked: Sequence[str], outlines: Mapping[str, FileOutline], most: int
) -> tuple[str, ...]:
    lines: dict[str, str] = {}
    left = most
    for path in ranked:
        line = _line(path, outlines[path])
        if len(line) + 1 > left:
            break
        lines[path] = line
        left -= len(line) + 1
    return tuple(lines[path] for path in sorted(lines))


def _line(path: str, outline: FileOutline) -> str:
    names = outline.names.split()
    shown = ", ".join(names[:_MOST_NAMES])
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"{path} | {shown}{more} | {outline.lines}"


def words_of(task: Task) -> frozenset[str]:
    """Return the words that describe a task, from title, keywords, files and prose.

    Names are taken apart: `BookingModel` says booking and model.
    """
    texts = (task.title, *task.keywords, *task.outputs, *task.acceptance, task.prose[:4000])
    return _words_in(" ".join(texts)) - _COMMON


def _words_in(text: str) -> frozenset[str]:
    return frozenset(
        _singular(piece.casefold()) for piece in _PIECES.findall(text) if len(piece) >= _SHORTEST
    )


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_COMMON_WORDS = """
with that this from must what when which each every have only file files test tests into then than
will should task they them their there here where does done your code function class value values
name names data type types line lines uses used
"""
_COMMON = frozenset(map(_singular, _COMMON_WORDS.split()))
