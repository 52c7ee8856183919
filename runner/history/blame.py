"""Explain a line from git alone: its task, attempt, change, review and proof."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import RunnerError
from runner.history.commit_log import read_commits
from runner.repo.git import GitError, text
from runner.text.display import display
from runner.text.wording import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.history.commit_log import LogEntry
    from runner.repo.read import Repository

_NOBODY = "0"
"""Digit of the commit name of uncommitted lines."""
_SETTINGS = (("blame.ignoreRevsFile", ""),)
"""A file from a clone must not decide the authorship of lines."""


class Line(Struct, frozen=True):
    """One line of a file, and the commit that it is from."""

    number: int
    """Line number in the current file, from 1."""
    text: str
    commit: str
    """Commit; empty for an uncommitted line."""
    original: int
    """Line number in that commit."""
    path: str
    """Path of the file in that commit."""
    author: str = ""
    restored: str = ""
    """Commit that restored the line; empty if none did."""


class LineSource(Struct, frozen=True):
    """A commit's facts about its lines."""

    kind: str
    """`task`, `undo`, `record`, `person` or `uncommitted`."""
    commit: str = ""
    subject: str = ""
    task: str = ""
    attempt: int = 0
    spec: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """`!change` notes of the task when this landed."""
    review: str = ""
    proofs: tuple[str, ...] = ()
    coverage: str = ""


class Stretch(Struct, frozen=True):
    """Lines that follow one another and have one source."""

    first: int
    last: int
    source: LineSource
    author: str
    restored: str
    lines: tuple[str, ...]


def lines_of(repository: Repository, path: str, line: int = 0) -> tuple[Line, ...]:
    """Return every line of a file, or one of them, with its commit. Raises RunnerError.

    A line that a restoring commit brought back is followed to the commit that wrote it. Raises
    RunnerError for a file that git does not know and for a line that it does not have.
    """
    found = _blame(repository, "", path, (line, line) if line else ())
    sources = read_commits(repository, (one.commit for one in found if one.commit))
    return tuple(_follow_restored(repository, found, sources))


def stretches(
    repository: Repository,
    lines: Sequence[Line],
    changes_of: Callable[[str, str], tuple[str, ...]],
) -> tuple[Stretch, ...]:
    """Group lines by their source; `changes_of(commit, task)` returns a task's change notes."""
    commits = read_commits(repository, (line.commit for line in lines if line.commit))
    sources = {commit: _source(one, changes_of) for commit, one in commits.items()}
    nobody = LineSource("uncommitted")
    alike = groupby(lines, lambda line: (sources.get(line.commit, nobody), line.restored))
    return tuple(_stretch(source, list(some)) for (source, _), some in alike)


def _stretch(source: LineSource, lines: Sequence[Line]) -> Stretch:
    first, texts = lines[0], tuple(line.text for line in lines)
    return Stretch(first.number, lines[-1].number, source, first.author, first.restored, texts)


def _source(entry: LogEntry, changes_of: Callable[[str, str], tuple[str, ...]]) -> LineSource:
    if entry.task:
        return LineSource(
            kind="task",
            commit=entry.commit,
            subject=entry.subject,
            task=entry.task,
            attempt=entry.attempt,
            spec=tuple(part for part in entry.spec if part),
            changes=changes_of(entry.commit, entry.task),
            review=entry.trailers.get("Review", ("",))[-1],
            proofs=entry.trailers.get("Proof", ()),
            coverage=entry.trailers.get("Coverage", ("",))[-1],
        )
    kind = "undo" if entry.undoes or entry.restores else "record" if entry.is_record else "person"
    return LineSource(kind, entry.commit, entry.subject, task=", ".join(entry.undoes))


def _follow_restored(
    repository: Repository, lines: Sequence[Line], commits: Mapping[str, LogEntry]
) -> Iterable[Line]:
    """Yield lines of restored files with the commits that originally wrote them."""
    restored = {
        (line.commit, line.path)
        for line in lines
        if line.commit in commits and commits[line.commit].checkpoint
    }
    written = {
        (commit, path): _original_lines(repository, commits[commit].checkpoint, path)
        for commit, path in restored
    }
    for line in lines:
        before = written.get((line.commit, line.path), ())
        if line.original <= len(before):
            old = before[line.original - 1]
            yield replace(
                old, number=line.number, text=line.text, restored=old.restored or line.commit
            )
        else:
            yield line


def _original_lines(repository: Repository, checkpoint: str, path: str) -> tuple[Line, ...]:
    """Return the lines of a file at a checkpoint, each with the commit that wrote it."""
    if repository.blob(checkpoint, path) is None:  # its history was rewritten, or never had it
        return ()
    found = _blame(repository, checkpoint, path, ())
    sources = read_commits(repository, (one.commit for one in found if one.commit))
    return tuple(_follow_restored(repository, found, sources))


def _blame(
    repository: Repository, commit: str, path: str, span: tuple[int, ...]
) -> tuple[Line, ...]:
    """Run git-blame(1) in porcelain format on a commit or the current file."""
    at = (f"-L{span[0]},{span[1]}",) if span else ()
    which = (commit,) if commit else ()
    git = repository.quiet().with_settings(*_SETTINGS)
    whole = repository.prefix.whole(path)
    # In this format every line repeats its header, so no state is needed (git-blame(1)).
    answer = git.ask("blame", "--line-porcelain", "--no-textconv", *at, *which, "--", whole)
    if answer.exit:
        raise _blame_error(path, span, answer.stderr)
    return tuple(_parse_porcelain(text(answer.out), repository))


def _blame_error(path: str, span: tuple[int, ...], output: str) -> RunnerError:
    if "has only" in output:
        return RunnerError(f"{path} has no line {span[0]}", detail=output.strip())
    if "no such path" in output or "no such ref" in output:
        hint = "check the path, or commit the file first"
        return RunnerError("no commit contains this file", where=path, hint=hint)
    return GitError("blame", output, 128)


def _parse_porcelain(out: str, repository: Repository) -> Iterable[Line]:
    head: list[str] = []
    fields: dict[str, str] = {}
    for row in out.split("\n"):
        if row.startswith("\t"):
            commit = "" if not head[0].strip(_NOBODY) else head[0]
            yield Line(
                number=int(head[2]),
                text=row[1:].removesuffix("\r"),
                commit=commit,
                original=int(head[1]),
                path=repository.prefix.inside(fields.get("filename", "")),
                author=fields.get("author", "") if commit else "",
            )
            head, fields = [], {}
        elif not head:
            head = row.split(" ")
        else:
            name, _, value = row.partition(" ")
            fields[name] = value


def blame_lines(found: tuple[Stretch, ...]) -> Iterator[str]:
    """Yield the blame of a file, one line per group of lines."""
    width = len(str(found[-1].last)) * 2 + 1 if found else 0
    for one in found:
        span = f"{one.first}" if one.first == one.last else f"{one.first}-{one.last}"
        yield f"{span:>{width}}  {_format_source(one.source, one.author)}{_format_restored(one)}"


def stretch_lines(one: Stretch) -> Iterator[str]:
    """Yield a blame line with its source, review, proofs and coverage."""
    source = one.source
    yield f"{one.first}: {display(one.lines[0])}"
    yield f"  {_format_source(source, one.author)}{_format_restored(one)}"
    yield from (f"  change: {display(note)}" for note in source.changes)
    if source.kind != "task":
        return
    yield f"  review: {display(source.review) or 'not recorded'}"
    yield from (f"  proof: {display(proof)}" for proof in source.proofs)
    if not source.proofs:
        yield "  proof: none recorded"
    if source.coverage:
        yield f"  coverage: {display(source.coverage)}"


def _format_source(source: LineSource, author: str) -> str:
    """Describe the source of a line in a few words."""
    where = f"{short(source.commit)} {display(source.subject)}"
    match source.kind:
        case "task":
            change = "".join(f" {note.split(' ')[0]}" for note in source.changes[-1:])
            number = source.attempt or "unknown"
            return f"{display(source.task)} attempt {number}{display(change)} · {where}"
        case "undo":
            return f"undone: {display(source.task)} · {where}"
        case "record":
            return f"the runner's own document · {where}"
        case "person":
            return f"{display(author)}, manually · {where}"
        case _:
            return "not committed yet"


def _format_restored(one: Stretch) -> str:
    return f" (restored by {short(one.restored)})" if one.restored else ""
