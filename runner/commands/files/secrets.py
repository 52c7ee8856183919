"""`runner secrets`: the false positives that a person lets the secret scan pass."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace, display_path
from runner.commands.files.single_files import STANDARD_INPUT, Unreadable, read_named
from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from datetime import date

    from runner.secrets.allowlist import Allowed, AllowList
    from runner.secrets.scan import Hit

_EPILOG = """\
The entry is a salted digest with a reason and your name, in secrets-allowed.toml, which no
task may write. Commit it, so that everybody's scan passes the same values.

examples:
  runner secrets allow tests/test_api.py:12 --reason "key of the vendor's documentation"
  runner secrets allow app.py:12:9 --reason "a public key" --expires 2027-01-31
  pass show sample | runner secrets allow --value-from - --reason "sample of the tutorial"
  runner secrets list
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner secrets` takes."""
    del name
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    allow = commands.add_parser("allow", help="let one value pass", allow_abbrev=False)
    allow.add_argument("place", nargs="?", metavar="FILE:LINE", help="where the scan found it")
    allow.add_argument("--value-from", metavar="FILE", help="the value itself; - is standard input")
    allow.add_argument("--reason", default="", metavar="TEXT", help="why it is no secret")
    allow.add_argument("--expires", default="", metavar="DATE", help="last day, as 2027-01-31")
    listing = commands.add_parser("list", help="what passes, and until when", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Allow or list. Raises RunnerError outside a repository and for what cannot be allowed."""
    workplace = Workplace.of(Path.cwd(), environ)
    if not workplace.in_git:
        raise RunnerError(
            "this folder is in no git repository",
            where=str(Path.cwd()),
            hint="the allow-list is a tracked file: git init",
        )
    if given.command == "list":
        return _list(workplace, as_json=given.json)
    return _allow(given, workplace)


# --- allowing -------------------------------------------------------------------------


def _allow(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    from runner.secrets.allowlist import FILE_NAME, AllowList, entry

    reason = _reason(given.reason)
    expires = _day(given.expires)
    values = _values(given)
    known = workplace.load_allow_list() or AllowList()
    new = [value for value in values if not known.match(value)]
    author = _author(workplace) if new else ""
    for value in new:
        _append(workplace, entry(value, reason=reason, author=author, expires=expires))
    if not new:
        print("this is allowed already; runner secrets list", file=sys.stderr)
        return ExitCode.OK
    until = f" until {expires}" if expires else ""
    print(f"allowed{until} by {display(author)}; now commit {FILE_NAME}", file=sys.stderr)
    return ExitCode.OK


def _reason(said: str) -> str:
    """The reason, which goes into a tracked file: it must be there and hold no secret itself."""
    from runner.secrets.scan import scan_text

    if not said.strip():
        raise RunnerError("an entry needs a reason", hint='add --reason "why it is no secret"')
    if any(found.refuses for found in scan_text(said, "reason")):
        raise RunnerError("the reason itself looks like a secret", hint="say it without the value")
    return " ".join(said.split())


def _day(said: str) -> date | None:
    from datetime import date

    from runner import effects

    if not said:
        return None
    try:
        day = date.fromisoformat(said)
    except ValueError:
        raise RunnerError(
            f'"{display_path(said)}" is no day', hint="write it as 2027-01-31"
        ) from None
    if day < effects.now().date():
        raise RunnerError(f"{day} has passed", hint="give a day to come, or none")
    return day


def _values(given: argparse.Namespace) -> list[str]:
    if bool(given.place) == bool(given.value_from):
        raise RunnerError(
            "name the place or the value, one of them",
            hint="runner secrets allow FILE:LINE --reason …, or --value-from -",
        )
    return _values_at(given.place) if given.place else [_read_value(given.value_from)]


def _read_value(name: str) -> str:
    """A value that is never an argument: arguments are seen by every process."""
    if name == STANDARD_INPUT and sys.stdin.isatty():
        import getpass

        value = getpass.getpass("value: ")
    else:
        content = _content(name)
        value = content.decode("utf-8", "surrogateescape").strip("\r\n")
    if not value.strip():
        raise RunnerError("the value is empty", hint="give the text that the scan stops at")
    return value


def _values_at(place: str) -> list[str]:
    """The values that the scan finds at `FILE:LINE` or `FILE:LINE:COLUMN`."""
    from runner.secrets.find import utf8
    from runner.secrets.scan import hits

    name, line, column = _place(place)
    content = _content(name)
    text = utf8(content)
    at: dict[int, list[Hit]] = {}
    for hit in hits(content, name):
        if text.count(b"\n", 0, hit.start) + 1 == line:
            start = text.rfind(b"\n", 0, hit.start) + 1
            at.setdefault(len(text[start : hit.start].decode("utf-8", "replace")) + 1, []).append(
                hit
            )
    chosen = at if column is None else {column: at[column]} if column in at else {}
    if not chosen:
        raise RunnerError(
            "the scan finds nothing there",
            where=display_path(place),
            hint=f"runner secret-scan {display_path(name)} says where it does",
        )
    if len(chosen) > 1:
        columns = ", ".join(map(str, sorted(chosen)))
        raise RunnerError(
            f"the scan finds several values on this line, at the columns {columns}",
            where=display_path(place),
            hint=f"name one: {display_path(name)}:{line}:{min(chosen)}",
        )
    return list(dict.fromkeys(hit.value for found in chosen.values() for hit in found))


def _place(place: str) -> tuple[str, int, int | None]:
    parts = place.rsplit(":", 2)
    numbers = []
    while len(parts) > 1 and parts[-1].isdecimal() and len(parts[-1]) < 10:  # noqa: PLR2004 - no file has more lines
        numbers.append(int(parts.pop()))
    if not numbers:
        raise RunnerError(
            "this names no line", where=display_path(place), hint="write it as FILE:LINE, app.py:12"
        )
    column = numbers[0] if len(numbers) > 1 else None
    return ":".join(parts), numbers[-1], column


def _content(name: str) -> bytes:
    content = read_named(name)
    if isinstance(content, Unreadable):
        raise RunnerError(content.message, where=content.path, hint=content.hint)
    return content


def _author(workplace: Workplace) -> str:
    """Who git says this person is, or who is logged in."""
    from runner.repo.read import Repository

    with Repository.open(workplace.root) as repository:
        identity = repository.identity()
    return identity.name if identity.invented else f"{identity.name} <{identity.email}>"


def _append(workplace: Workplace, new: Allowed) -> None:
    """Add an entry at the end of the file; what stands there stays byte for byte."""
    from runner import effects
    from runner.secrets.allowlist import FILE_NAME, AllowList, read_allow_list
    from runner.writes.safe_io import read_beneath, write_beneath

    before = read_beneath(workplace.root, FILE_NAME) or AllowList().render()
    ended = before if before.endswith(b"\n") else before + b"\n"
    added = AllowList((new,)).render().removeprefix(AllowList().render())
    content = ended + added
    read_allow_list(content, effects.now().date())  # never leave a file that cannot be read
    write_beneath(workplace.root, FILE_NAME, content, 0o100644)


# --- listing --------------------------------------------------------------------------


def _list(workplace: Workplace, *, as_json: bool) -> ExitCode:
    from runner.report.documents import document
    from runner.report.table import table
    from runner.secrets.allowlist import AllowList

    known = workplace.load_allow_list() or AllowList()
    gone = known.list_expired()
    if as_json:
        rows = [_as_data(one, known) for one in known.entries]
        sys.stdout.write(document("secrets", allowed=rows))
        return ExitCode.OK
    if not known.entries:
        print("nothing is allowed here", file=sys.stderr)
        return ExitCode.OK
    shown = [
        (str(number), _until(one, expired=one in gone), one.author, one.reason)
        for number, one in enumerate(known.entries, start=1)
    ]
    sys.stdout.write(table(("No", "Until", "By", "Reason"), shown))
    return ExitCode.OK


def _until(one: Allowed, *, expired: bool) -> str:
    if one.expires is None:
        return "always"
    return f"{one.expires} (passed)" if expired else str(one.expires)


def _as_data(one: Allowed, known: AllowList) -> dict[str, object]:
    return {
        "digest": one.digest,
        "salt": one.salt,
        "reason": display(one.reason),
        "author": display(one.author),
        "expires": None if one.expires is None else str(one.expires),
        "expired": one in known.list_expired(),
    }
