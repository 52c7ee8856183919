"""Which tasks wrote which files, as the history of a repository tells: for proposing owners."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.plan.task_ids import task_id
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.repo.read import Repository

_TRAILER = re.compile(r"^Task:[ \t]*(\S.*)$", re.MULTILINE)
_NAMED = re.compile(r"[A-Za-z][A-Za-z0-9]*[ _-]*\d+")
_TWO_PATHS = ("R", "C")


class Touched(NamedTuple):
    """One commit: the tasks it names, and what it did to files."""

    tasks: tuple[str, ...]
    certain: bool
    """Whether a trailer names the task, not only the words of the message."""
    paths: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    """Old and new path of what it renamed."""


class Proposal(NamedTuple):
    """A row that history proposes."""

    path: str
    tasks: tuple[str, ...]
    certain: bool


def find_touching_commits(
    repository: Repository, tip: str, known: Collection[str], prefixes: tuple[str, ...] = ()
) -> Iterator[Touched]:
    """The commits that a commit descends from, oldest first; merges bring nothing of their own."""
    words = ("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--reverse")
    messages = text(repository.git.run(*words, "--format=%H%n%B", "--end-of-options", tip, "--"))
    said = dict(entry.split("\n", 1) for entry in messages.split("\0") if "\n" in entry)
    diff = ("--name-status", "-M", "--no-ext-diff", "--no-textconv", "--format=%H")
    listed = text(repository.git.run(*words, *diff, "--end-of-options", tip, "--"))
    for commit, entries in _commits(iter(listed.split("\0"))):
        tasks, certain = _tasks(said.get(commit, ""), known, prefixes)
        inside = [tuple(repository.prefix.inside(path) for path in paths) for paths in entries]
        yield Touched(
            tasks,
            certain,
            tuple(paths[-1] for paths in inside),
            tuple((paths[0], paths[1]) for paths in inside if len(paths) > 1),
        )


def _commits(fields: Iterator[str]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Commits with the paths of each entry (git-log(1): `--name-status -z`)."""
    commit = next(fields, "")
    entries: list[tuple[str, ...]] = []
    for field in fields:
        status = field.removeprefix("\n")
        if status[:1].isupper():
            count = 2 if status.startswith(_TWO_PATHS) else 1
            entries.append(tuple(next(fields, "") for _ in range(count)))
            continue
        yield commit, entries
        commit, entries = status, []


def _tasks(
    message: str, known: Collection[str], prefixes: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """The known tasks a message names, and whether by a trailer."""
    trailers = [task_id(found, prefixes) for found in _TRAILER.findall(message)]
    certain = tuple(dict.fromkeys(one for one in trailers if one in known and one))
    if certain:
        return certain, True
    named = [task_id(found, prefixes) for found in _NAMED.findall(message)]
    return tuple(dict.fromkeys(one for one in named if one in known and one)), False


def proposals(history: Iterable[Touched], files: Collection[str]) -> tuple[Proposal, ...]:
    """For each of the files the tasks that wrote it, in the order they did; moves are followed.

    Where commits with a trailer tell of a file, those that only mention a task do not count.
    """
    sure: dict[str, dict[str, None]] = {}
    mentioned: dict[str, dict[str, None]] = {}
    for commit in history:
        for old, new in commit.moves:
            for rows in (sure, mentioned):
                rows.setdefault(new, {}).update(rows.pop(old, {}))
        rows = sure if commit.certain else mentioned
        for path in commit.paths:
            rows.setdefault(path, {}).update(dict.fromkeys(commit.tasks))
    found = []
    for path in sorted(files):
        tasks = sure.get(path) or mentioned.get(path)
        if tasks:
            found.append(Proposal(path, tuple(tasks), bool(sure.get(path))))
    return tuple(found)
