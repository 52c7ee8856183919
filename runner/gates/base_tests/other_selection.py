"""What is run or collected, as Cargo, TypeScript's compiler and Vite are told it.

Cargo's keys are put back; a block of Vite's settings that is vitest's, too. What `tsconfig.json`
compiles is the product's layout as well: that it changed is told, and nothing is put back.
"""

from __future__ import annotations

import json
import re
import tomllib

from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.javascript import LITERALS

_HEADER = re.compile(r"[ \t]*(?P<open>\[\[?)[ \t]*(?P<name>[\w.\"-]+)[ \t]*\]\]?[ \t]*(?:#.*)?$")
_KEY = re.compile(r"[ \t]*(?P<key>[\w-]+)[ \t]*=")
_OWN = {
    "lib": frozenset({"test", "doctest", "harness"}),
    "package": frozenset({"autotests"}),
    "bin": frozenset({"test", "harness"}),
}
"""Keys of Cargo's tables that say what is tested; `[[test]]` does so as a whole."""
_TSCONFIG = ("include", "exclude", "files", "references", "extends")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r",(?=\s*[}\]])")
_TEST_BLOCK = re.compile(r"(?<![\w$.])test\s*:\s*\{")


def cargo(content: bytes) -> object:
    """What Cargo.toml says of tests; None where it is no TOML."""
    try:
        table = tomllib.loads(content.decode())
    except ValueError:
        return None
    found: dict[str, object] = {"test": table.get("test", [])}
    for name in ("lib", "package"):
        own = table.get(name)
        kept = {k: v for k, v in own.items() if k in _OWN[name]} if isinstance(own, dict) else {}
        found[name] = kept
    rows = table.get("bin", [])
    found["bin"] = [
        (row.get("name"), {k: v for k, v in row.items() if k in _OWN["bin"]})
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and _OWN["bin"] & row.keys()
    ]
    return found


def mix_cargo(old: str, new: str) -> str:
    """The new file with what the old one said of tests."""
    wanted = {name: _lines(old, name, own=True) for name in ("lib", "package")}
    told: list[str] = []
    for name, text in _sections(new):
        if name == "test":
            continue
        told.append(_without(text, _OWN.get(name, frozenset())) + wanted.pop(name, ""))
    told += [f"\n[{name}]\n{lines}" for name, lines in wanted.items() if lines]
    told += [f"\n{text}" for name, text in _sections(old) if name == "test"]
    return "".join(told)


def _sections(text: str) -> list[tuple[str, str]]:
    """Each table by its name with all its lines; the first has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines(keepends=True):
        match = _HEADER.match(line.rstrip("\r\n"))
        if match:
            found.append((match["name"], []))
        found[-1][1].append(line if line.endswith("\n") else f"{line}\n")
    return [(name, "".join(lines)) for name, lines in found]


def _lines(text: str, table: str, *, own: bool) -> str:
    parts = [part for name, part in _sections(text) if name == table]
    rows = [row for part in parts for row in part.splitlines(keepends=True)]
    return "".join(row for row in rows if _is_own(row, _OWN[table]) is own)


def _without(text: str, keys: frozenset[str]) -> str:
    return "".join(row for row in text.splitlines(keepends=True) if not _is_own(row, keys))


def _is_own(row: str, keys: frozenset[str]) -> bool:
    match = _KEY.match(row)
    return match is not None and match["key"] in keys


def tsconfig(content: bytes) -> object:
    """Which files are compiled; None where it cannot be read."""
    text = _COMMENT.sub(lambda match: match[1] or "", content.decode("utf-8", "replace"))
    try:
        table = json.loads(_TRAILING.sub("", text))
    except ValueError:
        return None
    return {key: table.get(key) for key in _TSCONFIG} if isinstance(table, dict) else None


def vite(content: bytes) -> object:
    """The block of vitest in Vite's settings, as it is written."""
    text = content.decode("utf-8", "replace")
    place = _test_block(text)
    return text[place[0] : place[1]] if place else ""


def mix_vite(old: str, new: str) -> str:
    """The new settings with the old block, where both have one or the old one had none."""
    was, now = _test_block(old), _test_block(new)
    if now is None:
        return new
    if was is None:
        end = now[1] + 1 if new[now[1] : now[1] + 1] == "," else now[1]
        return new[: now[0]] + new[end:]
    return new[: now[0]] + old[was[0] : was[1]] + new[now[1] :]


def _test_block(text: str) -> tuple[int, int] | None:
    mask = mask_literals(text, LITERALS)
    match = _TEST_BLOCK.search(mask)
    return (match.start(), find_closing(mask, match.end() - 1) + 1) if match else None
