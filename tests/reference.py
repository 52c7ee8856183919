"""Writes docs/reference.md from the code itself: fields, settings, commands, events, words.

`make reference` writes it, and docs/when-it-stops.md from what `runner help blocked` shows; a test
holds both equal to what this makes.
"""

from __future__ import annotations

import argparse
import ast
import inspect
from dataclasses import MISSING, fields
from itertools import pairwise
from pathlib import Path

from runner.commands.catalogue import SYNONYMS, TABLE, fill
from runner.config.settings import Settings
from runner.journal.events import TYPES
from runner.model import Reason, Status
from runner.plan.field_names import FIELDS
from runner.report.summary import MEANING

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference.md"
SAME = {ROOT / "docs" / "when-it-stops.md": ROOT / "runner" / "commands" / "when_it_stops.md"}
"""Pages that the program shows, too."""
_HEAD = """\
# Reference

Written by `make reference` from the code; a test holds it equal.
[Write a plan](plan.md) says what the fields mean, [Settings](settings.md) what the settings do.
"""


def reference() -> str:
    """The whole page."""
    parts = (_HEAD, _fields(), _settings(), _commands(), _events(), _words())
    return "\n".join(parts)


def _table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"## {title}", "", _row(head), _row(("---",) * len(head)), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _fields() -> str:
    rows = [
        (names[0], ", ".join(f"`{name}`" for name in names[1:]) or "none")
        for names in FIELDS.values()
    ]
    return _table("Fields of a task", ("field", "also written"), rows)


def _settings() -> str:
    said = _explanations()
    rows = [(f"`{one.name}`", _default(one), said.get(one.name, "")) for one in fields(Settings)]
    return _table("Settings", ("setting", "default", "is"), rows)


def _default(one: object) -> str:
    value = getattr(one, "default", MISSING)
    if value is MISSING:
        return "cores" if getattr(one, "name", "") == "jobs" else "none"
    return (
        "none"
        if value in (None, "", ())
        else f"`{str(value).lower() if value in (True, False) else value}`"
    )


def _explanations() -> dict[str, str]:
    """The sentence below each setting in the code."""
    (body,) = (
        node.body
        for node in ast.parse(inspect.getsource(Settings)).body
        if isinstance(node, ast.ClassDef)
    )
    found = {}
    for before, node in pairwise(body):
        named = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
        if named and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[before.target.id] = " ".join(str(node.value.value).split())
    return found


def _commands() -> str:
    parts = ["## Commands\n"]
    for entry in TABLE:
        parts.append(f"### runner {entry.name}\n\n{entry.summary}\n")
        parser = argparse.ArgumentParser(prog=f"runner {entry.name}", add_help=False)
        fill(parser, entry)
        options = [_option(action) for action in parser._actions if _is_shown(action)]
        if options:
            parts.append("\n".join(options) + "\n")
    also = ", ".join(f"`{word}` is `{name}`" for word, name in SYNONYMS.items())
    return "\n".join([*parts, f"Words of other tools: {also}.\n"])


def _is_shown(action: argparse.Action) -> bool:
    return bool(action.help) and action.help != argparse.SUPPRESS


def _option(action: argparse.Action) -> str:
    choices = f" {{{','.join(map(str, action.choices))}}}" if action.choices else ""
    if isinstance(action.choices, dict):
        choices = ""
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = f" {action.metavar}" if action.option_strings and action.metavar else choices
    return f"- `{name}{value}`: {action.help}"


def _events() -> str:
    rows = [
        (f"`{name}`", (inspect.getdoc(kind) or "").splitlines()[0]) for name, kind in TYPES.items()
    ]
    return _table("Events of the journal", ("type", "says"), rows)


def _words() -> str:
    codes = [(str(int(code)), meaning) for code, meaning in MEANING.items()]
    reasons = ", ".join(f"[{one}](when-it-stops.md#{one})" for one in Reason)
    statuses = ", ".join(Status)
    return (
        _table("Exit codes", ("code", "means"), codes)
        + f"\nStatuses: {statuses}. Reasons of BLOCKED: {reasons}.\n"
    )


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    for page, source in SAME.items():
        page.write_bytes(source.read_bytes())
