"""Write docs/reference/ and docs/rooms.md from the code itself.

`make reference` writes the pages; a test holds each equal to what this makes.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.settings import (
    BOUND,
    CAPPED,
    COMMON,
    FLOOR,
    OWN,
    OWN_FILE,
    Settings,
    declarations,
)
from runner.journal.events import TYPES
from runner.model import Reason, Status
from runner.operations.table import FOR_PROGRAMS, OLD, STAYING, TOP, all_operations, children
from runner.plan.field_names import FIELDS
from runner.report.summary import MEANING

if TYPE_CHECKING:
    from runner.config.declarations import Declaration
    from runner.operations.row import Field

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
STOPS = ROOT / "runner" / "commands" / "when_it_stops.md"
"""What `runner help blocked` and `runner help exit` show."""
_GENERATED = "`make reference` writes this page from the code."
_PROGRAM = "runner"


def pages() -> dict[Path, str]:
    """Return every generated page by its path."""
    made = {
        "commands": _page("Commands", "look up every command and option", _commands()),
        "settings": _page("Settings", "look up every setting and its default", _settings()),
        "fields": _page("Fields of a task", "look up every field of the plan", _fields()),
        "events": _page("Events of the journal", "read the journal", _events()),
        "messages": STOPS.read_text(encoding="utf-8"),
        "exit-codes": _page("Exit codes and statuses", "react to an exit code", _words()),
    }
    found = {FOLDER / f"{name}.md": text for name, text in made.items()}
    found[ROOT / "docs" / "rooms.md"] = _rooms()
    return found


def _page(title: str, purpose: str, body: str) -> str:
    return f"# {title}\n\nOn this page you can {purpose}. {_GENERATED}\n\n{body}"


def _rooms() -> str:
    """Return the module index: each module of each package with its docstring's first line."""
    purpose = f"On this page you can find the module for an idea. {_GENERATED}"
    guide = "[ARCHITECTURE.md](../ARCHITECTURE.md) explains the packages."
    parts = [f"# Module index\n\n{purpose}\n{guide}\n"]
    rooms: dict[str, list[tuple[str, ...]]] = {}
    for path in sorted((ROOT / _PROGRAM).rglob("*.py")):
        place = path.relative_to(ROOT / _PROGRAM)
        head = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        if head:
            rooms.setdefault(str(place.parent), []).append((f"`{place.stem}`", head))
    for room, rows in rooms.items():
        name = _PROGRAM if room == "." else f"{_PROGRAM}/{room}"
        parts.append(_table(f"`{name}/`", ("module", "purpose"), rows))
    return "\n".join(parts)


def _table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return f"## {title}\n\n{_rows(head, rows)}"


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join([_row(head), _row(("---",) * len(head)), *map(_row, rows)]) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


_FIELD_MEANINGS = {
    "status": "PENDING (default), IN-PROGRESS, DONE, BLOCKED or STALE. The runner updates it.",
    "type": "Kind of work, such as `api`, `bugfix` or `milestone`. Absent: detected from the text.",
    "depends_on": "IDs of the tasks that must be DONE first. Absent: none.",
    "outputs": "Paths and globs that the task may write, or `any`. Absent: it writes nothing.",
    "inputs": "Paths and globs of files that the task reads.",
    "acceptance": "What must be true, one item each. An item may begin with an ID, such as `A1:`.",
    "test_contracts": "Commands that prove the task: `TC-NNN (level): command`, with the "
    "level unit, integration or e2e.",
    "held_out_files": "Held-out files with their digests. `runner hold-out` writes it.",
    "test_author": "Agent or model that writes held-out tests before the task starts.",
    "assurance": "Minimum grade: `tests` or `independent`. Absent: `proof.assurance`.",
    "contracts": "`openapi: …`, `schema: …` or `command: …`, one each; or `none — reason`.",
    "changes_tests": "Paths, IDs or globs of tests whose expectations the task may change.",
    "gates": "Gates besides those of the settings: `name: command`. The same name replaces one.",
    "coverage": "Minimum percent of the task's own lines that its tests run, such as `80%`. "
    "Absent: `proof.coverage`.",
    "implementer": "Who builds the task: `command`, `claude`, `model`, … Absent: `blocks` or "
    "`command` if the section has them, else `build.implementer`.",
    "model": "Model that builds the task. Absent: `model.execute`.",
    "command": "Shell command that builds the task.",
    "red_first": "`yes`: each test contract must fail without the change. `no`: it need not. "
    "Absent: `proof.red_first`.",
    "uses": "Scarce resources that the task needs while it runs, such as `gpu 1, port 5432`.",
    "network": "Network access of its commands: `no` (default), `loopback`, `registries` or `yes`.",
    "timeout": "Maximum time of one command, such as `10 minutes`. Absent: `limits.hard_seconds`.",
    "keywords": "Words by which the runner chooses patterns and decisions for the brief.",
    "stack": "Technologies by which the runner chooses patterns for the brief.",
    "patterns": "IDs of patterns that the brief must contain.",
    "requires": "What the machine must have: `secret NAME`, `tool NAME` or `root`.",
    "budget": "Limits, such as `5 attempts, 30 minutes, 200k tokens, $5`. Absent: the settings.",
    "review": "Who reviews the change: `prompt`, `auto` or `off`. It only tightens the settings.",
    "no_proof": "`none — reason`: the task needs no proof.",
    "priority": "Order among ready tasks: `critical`, `high`, `medium` (default), `low`, `lowest`.",
    "source": "Origin of an imported task, as `FILE:LINE`. `runner import` writes it.",
}


def _fields() -> str:
    rows = [
        (names[0], ", ".join(f"`{name}`" for name in names[1:]) or "none", _FIELD_MEANINGS[key])
        for key, names in FIELDS.items()
    ]
    return _rows(("field", "also written", "meaning"), rows)


_PLACES = """\
Later places override earlier ones:

1. your own settings, `~/.config/runner/runner.toml`
2. the repository's `runner.toml`, or `[tool.runner]` in `pyproject.toml`; the column "who"
   limits it
3. environment variables, such as `RUNNER_BUILD_JOBS=2`
4. options of the command

`limits.soft_seconds` is `soft_seconds` in the table `[limits]`; its environment variable is
`RUNNER_LIMITS_SOFT_SECONDS`. Old names without a table still work; the runner prints one note
for each file.

`runner settings` shows each value that differs from the default, and its source. `--all` shows
every setting. `--from-repository` shows what the repository's own file sets.

```toml
[build]
jobs = 4

[model]
execute = "NAME"

[gates]
lint = "ruff check ."

[[permission]]
tool = "bash"
pattern = "git push *"
action = "deny"
```

The column "who" says what a repository may set:

- empty: any value
- less: no more than you do
- stricter: it may only tighten
- you: nothing; only your own settings, the environment or an option
- your file: nothing; only `~/.config/runner/runner.toml`

"rare" marks settings that most projects leave at the default.

"""


def _settings() -> str:
    parts = [_PLACES]
    usual = Settings()
    for table in Settings.__struct_fields__:
        kind = type(getattr(usual, table))
        inner = getattr(kind, "__struct_fields__", ())
        rows = [row for one in inner if (row := _setting(kind, one, f"{table}."))]
        if rows:
            parts.append(_table(f"[{table}]", _HEAD, rows) + "\n")
    rows = [row for one in Settings.__struct_fields__ if (row := _setting(Settings, one, ""))]
    return "".join(parts) + _table("Tables of their own", _HEAD, rows)


_HEAD = ("setting", "default", "who", "need", "old name", "meaning")


def _setting(kind: type, name: str, table: str) -> tuple[str, ...] | None:
    """The row of a setting; none for a field that no source sets."""
    known = declarations().get(table + name)
    if known is None:
        return None
    whose = {OWN: "you", OWN_FILE: "your file", BOUND: "less", CAPPED: "less", FLOOR: "stricter"}
    return (
        f"`{name}`",
        _default(known),
        next((word for mark, word in whose.items() if mark in known.marks), ""),
        "" if COMMON in known.marks else "rare",
        f"`{known.old}`" if known.old != known.name else "",
        _explanations(kind).get(name, ""),
    )


def _default(known: Declaration) -> str:
    value = known.default
    if known.name == "build.jobs":
        return "cores"
    return (
        "none"
        if value in (None, "", ())
        else f"`{str(value).lower() if value in (True, False) else value}`"
    )


@cache
def _explanations(kind: type) -> dict[str, str]:
    """The sentence below each setting in the code."""
    (body,) = (
        node.body
        for node in ast.parse(inspect.getsource(inspect.getmodule(kind))).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    found, last = {}, ""
    for before, node in pairwise((*body, None)):
        if not isinstance(before, ast.AnnAssign) or not isinstance(before.target, ast.Name):
            continue
        name = before.target.id
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[name], last = " ".join(str(node.value.value).split()), name
        elif last:
            found[name] = f"See `{last}`."
    return found


def _commands() -> str:
    parts = []
    for name in (*TOP, *FOR_PROGRAMS):
        for row in (all_operations()[name], *children(name)):
            parts.append(f"## runner {row.name}\n\n{row.summary}\n")
            if options := [_option(field) for field in row.fields if field.shown]:
                parts.append("\n".join(options) + "\n")
            if row.does:
                document = f" `--json` prints a document `{row.output}`." if row.output else ""
                parts.append(f"Effects: {', '.join(row.effects.split())}.{document}\n")
    return "\n".join([*parts, *map(_other_names, (STAYING, OLD))])


def _other_names(names: dict[str, tuple[str, ...]]) -> str:
    head = "Other names, for good" if names is STAYING else "Old names, until 0.4"
    return (
        f"{head}: {', '.join(f'`{old}` is `{chr(32).join(new)}`' for old, new in names.items())}.\n"
    )


def _option(field: Field) -> str:
    choices = f" {{{','.join(field.choices)}}}" if field.choices else ""
    name = ", ".join(field.flags) or field.metavar or field.name
    value = f" {field.metavar}" if field.flags and field.metavar else choices
    return f"- `{name}{value}`: {field.help}"


def _events() -> str:
    rows = [
        (f"`{name}`", (inspect.getdoc(kind) or "").splitlines()[0]) for name, kind in TYPES.items()
    ]
    return _rows(("type", "meaning"), rows)


def _words() -> str:
    codes = [(str(int(code)), meaning) for code, meaning in MEANING.items()]
    reasons = ", ".join(f"[{one}](messages.md#{one})" for one in Reason)
    statuses = ", ".join(Status)
    return (
        _rows(("code", "meaning"), codes)
        + f"\nStatuses: {statuses}. Reasons of BLOCKED: {reasons}.\n"
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
