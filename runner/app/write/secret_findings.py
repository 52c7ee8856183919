"""Scan files for secrets on request, and manage the allowed false positives."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.write.workplace import (
    STANDARD_INPUT,
    Unreadable,
    Workplace,
    display_path,
    no_progress,
    read_named,
    require_named,
)
from runner.errors import ExitCode, RunnerError, worst
from runner.lazy_module import lazy_module
from runner.model import Severity
from runner.secrets.allowlist import FILE_NAME, AllowList, entry, read_allow_list
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import plural
from runner.writes.safe_io import read_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from runner.model import Finding
    from runner.repo import read
    from runner.report import documents, sarif
    from runner.secrets import find, scan
    from runner.secrets.allowlist import Allowed
    from runner.secrets.scan import Hit
else:
    find = lazy_module("runner.secrets.find")
    read = lazy_module("runner.repo.read")
    scan = lazy_module("runner.secrets.scan")
    documents = lazy_module("runner.report.documents")
    sarif = lazy_module("runner.report.sarif")

_STDIN = "(standard input)"


class SecretScan(Struct, frozen=True):
    """The result of scanning all named files."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    unreadable: tuple[Unreadable, ...]

    @property
    def is_blocked(self) -> bool:
        """Whether anything in them must not be written."""
        return any(one.refuses for one in self.findings)

    @property
    def code(self) -> ExitCode:
        """The exit code."""
        codes = {ExitCode.FAILED} if self.is_blocked else set()
        return worst(codes | ({ExitCode.USAGE} if self.unreadable else set()))


def scan_files(
    files: Iterable[str],
    environ: Mapping[str, str],
    read_input: Callable[[int], bytes],
    progress: Callable[[str], AbstractContextManager[None]] = no_progress,
) -> SecretScan:
    """Scan each file once for secrets, with the allow list of its project.

    `progress` is entered around each scan. Raises RunnerError where an allow-list is broken.
    """
    files = tuple(dict.fromkeys(files))
    findings: list[Finding] = []
    unreadable: list[Unreadable] = []
    lists: dict[Path, AllowList | None] = {}
    for name in files:
        content = read_named(name, read_input)
        if isinstance(content, Unreadable):
            unreadable.append(content)
            continue
        folder = Path() if name == STANDARD_INPUT else Path(name).parent
        folder = folder.resolve()
        if folder not in lists:
            lists[folder] = Workplace.of(folder, environ).load_allow_list()
        with progress(f"scanning {_display_name(name)} ({len(content) >> 20} MB)"):
            findings += _scan_named(content, name, lists[folder])
    return SecretScan(tuple(map(_display_name, files)), tuple(findings), tuple(unreadable))


def _scan_named(content: bytes, name: str, allowed: AllowList | None) -> Iterator[Finding]:
    """Yield the secret findings of a file, with all values redacted from text and name."""
    path = _STDIN if name == STANDARD_INPUT else name
    for found in scan.scan_content(content, path, allowed=allowed):
        message, hint = redact(found.message), redact(found.hint)
        yield replace(found, path=_display_name(name), message=message, hint=hint)


def _display_name(name: str) -> str:
    return _STDIN if name == STANDARD_INPUT else display_path(name)


# --- allowing -------------------------------------------------------------------------


class Allow(Struct, frozen=True):
    """The values that the scan must ignore: those at a place, or one value, with a reason."""

    reason: str
    place: str = ""
    """`FILE:LINE` or `FILE:LINE:COLUMN`."""
    read_value: Callable[[], str] | None = None
    """Reads the value after all other checks; it is never an argument."""
    expires: str = ""
    """Last day, as 2027-01-31; empty: no expiry."""


class AllowedNow(Struct, frozen=True):
    """The new entries of the allow-list; empty where the values were allowed before."""

    entries: tuple[Allowed, ...]
    author: str
    expires: date | None


def open_allow_list(start: Path, environ: Mapping[str, str]) -> Workplace:
    """Open the workplace of the allow-list. Raises RunnerError outside of a repository."""
    workplace = Workplace.of(start, environ)
    if not workplace.in_git:
        raise RunnerError(
            "this folder is not in a git repository",
            where=str(start),
            hint="the allow-list is a tracked file: git init",
        )
    return workplace


def allow(workplace: Workplace, asked: Allow, read_input: Callable[[int], bytes]) -> AllowedNow:
    """Allow values in the secret scan. Raises RunnerError for a value that cannot be allowed."""
    reason = _reason(asked.reason)
    expires = _day(asked.expires)
    values = _values(asked, read_input)
    known = workplace.load_allow_list() or AllowList()
    new = [value for value in values if not known.match(value)]
    author = _author(workplace) if new else ""
    made = [entry(value, reason=reason, author=author, expires=expires) for value in new]
    for one in made:
        _append(workplace, one)
    return AllowedNow(tuple(made), author, expires)


def _values(asked: Allow, read_input: Callable[[int], bytes]) -> list[str]:
    if bool(asked.place) == (asked.read_value is not None):
        raise RunnerError(
            "name either the place or the value",
            hint="runner pipeline secrets allow FILE:LINE --reason …, or --value-from -",
        )
    if asked.read_value is None:
        return _values_at(asked.place, read_input)
    # Never from an argument: other users can see those (ps(1)), and shells store them.
    value = asked.read_value()
    if not value.strip():
        raise RunnerError("the value is empty", hint="enter the text that the scan reports")
    return [value]


def _reason(text: str) -> str:
    """Return the reason on one line. Raises RunnerError if it is empty or contains a secret."""
    if not text.strip():
        raise RunnerError("an entry needs a reason", hint='add --reason "why it is not a secret"')
    if any(found.refuses for found in scan.scan_text(text, "reason")):
        raise RunnerError("the reason itself looks like a secret", hint="remove the value from it")
    return " ".join(text.split())


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise RunnerError(
            f'"{display_path(text)}" is not a valid date', hint="write it as 2027-01-31"
        ) from None
    if day < effects.now().date():
        raise RunnerError(f"{day} is in the past", hint="give a future date, or none")
    return day


def _values_at(place: str, read_input: Callable[[int], bytes]) -> list[str]:
    """Return the secret values that the scan finds at `FILE:LINE` or `FILE:LINE:COLUMN`."""
    name, line, column = _place(place)
    content = require_named(name, read_input)
    text = find.utf8(content)
    at: dict[int, list[Hit]] = {}
    for hit in scan.hits(content, name):
        if text.count(b"\n", 0, hit.start) + 1 == line:
            start = text.rfind(b"\n", 0, hit.start) + 1
            at.setdefault(len(text[start : hit.start].decode("utf-8", "replace")) + 1, []).append(
                hit
            )
    chosen = at if column is None else {column: at[column]} if column in at else {}
    if not chosen:
        raise RunnerError(
            "the scan finds nothing at this place",
            where=display_path(place),
            hint=f"runner pipeline secret-scan {display_path(name)} shows its findings",
        )
    if len(chosen) > 1:
        columns = ", ".join(map(str, sorted(chosen)))
        raise RunnerError(
            f"this line has several findings, at columns {columns}",
            where=display_path(place),
            hint=f"add the column of one: {display_path(name)}:{line}:{min(chosen)}",
        )
    return list(dict.fromkeys(hit.value for found in chosen.values() for hit in found))


def _place(place: str) -> tuple[str, int, int | None]:
    parts = place.rsplit(":", 2)
    numbers = []
    while len(parts) > 1 and parts[-1].isdecimal() and len(parts[-1]) < 10:  # noqa: PLR2004 - no file has more lines
        numbers.append(int(parts.pop()))
    if not numbers:
        raise RunnerError(
            "no line number", where=display_path(place), hint="write FILE:LINE, such as app.py:12"
        )
    column = numbers[0] if len(numbers) > 1 else None
    return ":".join(parts), numbers[-1], column


def _author(workplace: Workplace) -> str:
    """Return the author by git's configuration, or else the login name."""
    with read.Repository.open(workplace.root) as repository:
        identity = repository.identity()
    return identity.name if identity.invented else f"{identity.name} <{identity.email}>"


def _append(workplace: Workplace, new: Allowed) -> None:
    """Add an entry at the end of the file; what stands there stays byte for byte."""
    before = read_below(workplace.root, FILE_NAME) or AllowList().render()
    ended = before if before.endswith(b"\n") else before + b"\n"
    added = AllowList((new,)).render().removeprefix(AllowList().render())
    content = ended + added
    read_allow_list(content, effects.now().date())  # never leave a file that cannot be read
    write_below(workplace.root, FILE_NAME, content, 0o100644)


def finding_text(found: Finding) -> Iterator[str]:
    """Yield one finding with its place and hint as text."""
    place = f"{found.path}:{found.line}:{found.column}" if found.line else found.path
    yield f"{place}: {found.severity}: {display(found.message)}"
    if found.hint:
        yield f"    hint: {display(found.hint)}"


def summarize(scanned: SecretScan) -> str:
    """Return the counts of files with secrets and of files that could not be read."""
    counts = {
        kind: sum(one.severity is kind for one in scanned.findings)
        for kind in (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    }
    tally = ", ".join(
        f"{number} {verb}"
        for number, verb in (
            (counts[Severity.ERROR], "blocking"),
            (counts[Severity.WARNING], "to look at"),
            (counts[Severity.NOTE], "noted"),
        )
        if number
    )
    looked = len(scanned.files) - len(scanned.unreadable)
    hint = (
        '\na false positive? runner pipeline secrets allow FILE:LINE --reason "…"'
        if counts[Severity.ERROR]
        else ""
    )
    return f"{plural(looked, 'file')} scanned: {tally or 'nothing found'}{hint}"


def scan_document(scanned: SecretScan) -> str:
    """Return the findings of a scan as a JSON document."""
    return documents.document(
        "secret-scan",
        blocked=scanned.is_blocked,
        files=scanned.files,
        findings=[
            {
                "path": one.path,
                "line": one.line,
                "column": one.column,
                "severity": one.severity,
                "message": display(one.message),
                "hint": display(one.hint),
            }
            for one in scanned.findings
        ],
        unreadable=scanned.unreadable,
    )


def scan_sarif(scanned: SecretScan) -> str:
    """Return findings of a scan as SARIF."""
    failures = [f"{one.path}: {one.message}" for one in scanned.unreadable]
    return sarif.sarif_document(map(sarif.of_finding, scanned.findings), failures=failures)


def describe_allowed(known: AllowList) -> list[dict[str, object]]:
    """Return the allowed secrets for JSON, without any values."""
    gone = known.list_expired()
    return [
        {
            "digest": one.digest,
            "salt": one.salt,
            "reason": display(one.reason),
            "author": display(one.author),
            "expires": None if one.expires is None else str(one.expires),
            "expired": one in gone,
        }
        for one in known.entries
    ]
