"""Lines of code: a task's own lines, the measured ones, and those stored for later reports."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.gates.test_paths import is_test_path
from runner.impact.change import Changed, with_moves
from runner.impact.python_blocks import ranges_of
from runner.languages.registry import is_written_in
from runner.model import Observed, digest_of
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.repo.read import Repository


Runs: TypeAlias = "dict[str, dict[str, set[int]]]"
"""Lines that ran, by path and then by test; a test without a name is the whole contract."""


class Lines(Struct, frozen=True):
    """Lines of one file, numbered from 1."""

    executable: frozenset[int]
    ran: frozenset[int]


class Measured(Struct, frozen=True):
    """The measurements of one test contract, or of several."""

    runs: Runs = field(default_factory=dict)
    lines: dict[str, Lines] = field(default_factory=dict)
    """Files whose tool itself reports their executable lines."""
    tools: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    """Why something could not be measured."""
    translated: frozenset[str] = frozenset()
    """Files that ran in translated form, without a map back to the source."""
    code: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Lines with byte code, for files that ran in another Python."""
    builds: frozenset[str] = frozenset()
    """Scripts that commands built and ran, without a source map."""

    def ran(self, path: str) -> frozenset[int]:
        """Return all lines of a file that any test executed."""
        return frozenset().union(*self.runs.get(path, {}).values())


def together(measured: Iterable[Measured]) -> Measured:
    """Merge several measurements into one."""
    whole = Measured()
    tools: dict[str, str] = {}
    missing: dict[str, None] = {}
    translated: set[str] = set()
    builds: set[str] = set()
    code: dict[str, frozenset[int]] = {}
    for one in measured:
        code.update(one.code)
        for path, tests in one.runs.items():
            for test, lines in tests.items():
                whole.runs.setdefault(path, {}).setdefault(test, set()).update(lines)
        merge(whole.lines, one.lines)
        tools.update(one.tools)
        missing.update(dict.fromkeys(one.missing))
        translated |= one.translated
        builds |= one.builds
    rest = tuple(sorted(tools.items())), tuple(missing)
    return Measured(whole.runs, whole.lines, *rest, frozenset(translated), code, frozenset(builds))


def assume_built(measured: Measured, own: Iterable[str]) -> Measured:
    """Count own scripts that were not loaded as translated if a build ran."""
    if not measured.builds:
        return measured
    scripts = (path for path in own if is_written_in(path, "javascript"))
    unloaded = {path for path in scripts if not measured.ran(path)}
    return replace(measured, translated=measured.translated | unloaded)


def merge(into: dict[str, Lines], more: dict[str, Lines]) -> None:
    """Add what another reading says of the same files."""
    for path, lines in more.items():
        known = into.get(path, Lines(frozenset(), frozenset()))
        into[path] = Lines(known.executable | lines.executable, known.ran | lines.ran)


# --- execution rows -------------------------------------------------------------------


MOST_ROWS = 2000
"""Rows of one test contract; if there are more, each file gets a single row."""


def make_observed_rows(
    contract: str, measured: Measured, content: Callable[[str], bytes | None]
) -> tuple[Observed, ...]:
    """Return the rows by path and test; empty if there are too many files.

    None for a contract that runs more files than can be kept: a part of them would say that the
    others are not run.
    """
    if len(measured.runs) > MOST_ROWS:
        return ()
    each = sum(len(tests) for tests in measured.runs.values()) <= MOST_ROWS
    rows: list[Observed] = []
    for path in sorted(measured.runs):
        source = content(path)
        if source is None:  # gone since it ran
            continue
        digest = digest_of(source)
        tests = measured.runs[path] if each else {"": measured.ran(path)}
        rows += [
            Observed(contract, test, path, digest, ranges_of(lines))
            for test, lines in sorted(tests.items())
        ]
    return (*rows, *_translated_rows(contract, measured, content))


def _translated_rows(
    contract: str, measured: Measured, content: Callable[[str], bytes | None]
) -> Iterator[Observed]:
    """Yield each translated file that ran, without line numbers."""
    for path in sorted(measured.translated - measured.runs.keys()):
        source = content(path)
        if source is not None:
            yield Observed(contract, "", path, digest_of(source), "")


_SETTINGS = re.compile(
    r"\A(?:setup|noxfile)\.py\Z|(?:\A|/)docs?/(?:source/)?conf\.py\Z|(?:\A|/)[\w-]+\.config\.[cm]?[jt]s\Z"
)
"""Settings written as code, which only their tool runs (setuptools, nox, Sphinx, vite …)."""
_EXACT = 20_000
"""Up to this many lines every common line is matched; beyond, frequent ones are ignored."""


def own_lines(context: GateContext) -> Mapping[str, frozenset[int]]:
    """Return the lines that the task wrote, for each file that is neither test nor settings.

    What it landed earlier counts with what it changes now. A file that only moved is compared with
    what it was at its old place.
    """
    changes = with_moves(
        Changed(change.path, context.before(change.path), change.content)
        for change in context.changes
    )
    found = {
        one.path: find_added_lines(context.before_own_work(one.origin or one.path), one.after)
        for one in changes
        if one.after is not None and _counts(one.path, context)
    }
    touched = {change.path for change in context.changes}
    for path in context.former.keys() - touched:
        content = context.before(path)
        if content is not None and _counts(path, context):
            found[path] = find_added_lines(context.former[path], content)
    return found


def _counts(path: str, context: GateContext) -> bool:
    return not context.is_test(path) and not _SETTINGS.search(path)


def find_added_lines(before: bytes | None, after: bytes) -> frozenset[int]:
    """Return the line numbers of `after` that a diff adds; all for a new file."""
    new = after.split(b"\n")
    if before is None:
        return frozenset(range(1, len(new) + 1))
    old = before.split(b"\n")
    # difflib may need quadratic time, and most of a file is the same at both ends.
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > _EXACT)
    return frozenset(
        number + start + 1
        for tag, _, _, first, last in matcher.get_opcodes()
        if tag != "equal"
        for number in range(first, last)
    )


def _alike(one: list[bytes], other: list[bytes]) -> int:
    """Count the equal lines at the start."""
    pairs = zip(one, other, strict=False)
    differing = (at for at, (left, right) in enumerate(pairs) if left != right)
    return next(differing, min(len(one), len(other)))


_HEAD = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+)(?: \d+)?")
_NO_IGNORED_REVISIONS = (("blame.ignoreRevsFile", ""),)
"""A file from a clone must not decide the authorship of lines."""


def commits_of(task_id: str, repository: Repository) -> tuple[str, ...]:
    """Return the commits that landed a task, newest first."""
    head = repository.head().commit
    if not head:
        return ()
    trailers = repository.log_trailers(head)
    return tuple(one.commit for one in trailers if one.task == task_id and not one.checked)


def lines_of_landing(
    commits: Collection[str], paths: Iterable[str], repository: Repository
) -> dict[str, set[int]]:
    """Return the lines that these commits wrote, and in `paths` uncommitted ones, too."""
    written = {
        change.path
        for commit in commits
        for change in repository.diff_trees(repository.resolve(f"{commit}^"), commit)
    }
    open_ones = set(paths)
    found = {}
    for path in sorted(written | open_ones):
        file = repository.root / path
        if is_test_path(path) or file.is_symlink() or not file.is_file():
            continue
        # git-blame(1) marks uncommitted lines with zeros, as long as a digest of the repository.
        new = {"0" * 40, "0" * 64} if path in open_ones else set()
        lines = _blame_lines(path, {*commits, *new}, repository)
        if lines:
            found[path] = lines
    return found


def _blame_lines(path: str, commits: Collection[str], repository: Repository) -> set[int]:
    """Return the lines of a file that these commits wrote (git-blame(1), porcelain)."""
    git = repository.quiet().with_settings(*_NO_IGNORED_REVISIONS)
    whole = repository.prefix.whole(path)
    answer = git.ask("blame", "--porcelain", "--no-textconv", "--", whole)
    if answer.exit:  # git does not know the file: all of it is new
        count = (repository.root / path).read_bytes().count(b"\n") + 1
        return set(range(1, count + 1)) if "0" * 40 in commits else set()
    heads = (_HEAD.fullmatch(row) for row in text(answer.out).split("\n"))
    return {int(match[2]) for match in heads if match and match[1] in commits}


LINES_FILE = "coverage.json"


def write_lines(folder: Path, lines: Mapping[str, Lines]) -> None:
    """Write a measurement, without durability: after a power loss it is just not reported."""
    content = {
        path: {"executable": sorted(one.executable), "ran": sorted(one.ran)}
        for path, one in lines.items()
    }
    effects.make_folder(folder)
    effects.write_file(folder / LINES_FILE, json.dumps(content).encode(), durable=False)


def read_lines(folder: Path) -> dict[str, Lines]:
    """Read what `write_lines` has written; empty if it is missing or damaged."""
    try:
        rows = json.loads((folder / LINES_FILE).read_bytes())
        return {
            str(path): Lines(
                frozenset(map(int, row["executable"])), frozenset(map(int, row["ran"]))
            )
            for path, row in rows.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
