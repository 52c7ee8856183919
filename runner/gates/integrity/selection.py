"""Of files that also configure the product, the keys that say which tests run or are collected.

They are put back as they were by cutting the text, so that all else stays as proposed byte for
byte; what comes of it is read again and must say exactly that, else the file is left alone. Cargo's
keys are put back; a block of Vite's settings that is vitest's, too. What `tsconfig.json` compiles
is the product's layout as well: that it changed is told, and nothing is put back.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.javascript import LITERALS
from runner.lazy_pattern import regex
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_TABLE = regex(r"[ \t]*(?P<open>\[\[?)[ \t]*(?P<name>[\w.\"-]+)[ \t]*\]\]?[ \t]*(?:#.*)?$")
_ROW_KEY = regex(r"[ \t]*(?P<key>[\w-]+)[ \t]*=")
_OWN = {
    "lib": frozenset({"test", "doctest", "harness"}),
    "package": frozenset({"autotests"}),
    "bin": frozenset({"test", "harness"}),
}
"""Keys of Cargo's tables that say what is tested; `[[test]]` does so as a whole."""
_TSCONFIG_KEYS = ("include", "exclude", "files", "references", "extends")
_COMMENT = regex(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = regex(r",(?=\s*[}\]])")
_TEST_BLOCK = regex(r"(?<![\w$.])test\s*:\s*\{")


def cargo(content: bytes) -> object:
    """What Cargo.toml says of tests; None where it is no TOML."""
    try:
        table = parse_toml(content.decode(), bounded=False)
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
        match = _TABLE.match(line.rstrip("\r\n"))
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
    match = _ROW_KEY.match(row)
    return match is not None and match["key"] in keys


def tsconfig(content: bytes) -> object:
    """Which files are compiled; None where it cannot be read."""
    text = _COMMENT.sub(lambda match: match[1] or "", content.decode("utf-8", "replace"))
    try:
        table = parse_json(_TRAILING.sub("", text))
    except ValueError:
        return None
    return {key: table.get(key) for key in _TSCONFIG_KEYS} if isinstance(table, dict) else None


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


_PYTEST_WORDS = """
addopts testpaths norecursedirs python_files python_classes python_functions markers xfail_strict
filterwarnings collect_imported_tests required_plugins usefixtures empty_parameter_set_mark
enable_assertion_pass_hook
"""
_PYTEST = frozenset(_PYTEST_WORDS.split())
_SCRIPT = regex(
    r"(?:\A|[:_\-.])(?:pre|post)?(?:tests?|checks?|verify|lint|types?|spec|ci|unit|e2e)(?:\Z|[:_\-.])"
)
_JEST_WORDS = """
testMatch testRegex testPathIgnorePatterns testNamePattern setupFiles setupFilesAfterEnv
globalSetup globalTeardown bail passWithNoTests runner testRunner snapshotResolver
snapshotSerializers collectOnly projects files match
modulePathIgnorePatterns spec grep fgrep invert ignore retries require file exclude forbidOnly
"""
_JEST = frozenset(_JEST_WORDS.split())
_LARGEST = 500_000
_TOOLS = ("jest", "vitest", "mocha", "ava", "tap", "c8", "nyc")
_TSCONFIG = regex(r"tsconfig[\w.-]*\.json")
_VITE = regex(r"vite\.config\.[cm]?[jt]s")
_KEY = regex(r"[ \t]*(?P<key>[A-Za-z0-9_-]+|\"[^\"\n]+\")[ \t]*=")
_VALUE = regex(
    r'''"""(?:\\.|[^\\])*?(?:"""|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|#[^\n]*+'''
    r"|.",
    re.DOTALL,
)
"""Of a value of TOML: a text, a comment, else one sign; one without an end goes on to the last."""
_HEADER = regex(r"[ \t]*\[\[?(?P<name>[^\]\n]+)\]\]?[ \t]*(?:#.*)?$")
_INI_KEY = regex(r"(?P<key>[A-Za-z0-9_.-]+)[ \t]*[=:]")


def has_selection(path: str, before: bytes, after: bytes | None) -> bool:
    """Whether such a file says otherwise what runs than it did."""
    reader = _READERS.get(_kind(path))
    return reader is not None and after is not None and reader(before) != reader(after)


def with_selection_of(path: str, before: bytes, after: bytes | None) -> bytes:
    """The proposed file with what ran before; as it is where that cannot be cut out."""
    name = _kind(path)
    if after is None or name not in _READERS:
        return before
    if name not in _MIXERS or len(after) > _LARGEST or _READERS[name](after) is None:
        return after
    try:
        old, new = before.decode(), after.decode()
    except UnicodeDecodeError:
        return after
    mixed = _MIXERS[name](old, new).encode()
    return mixed if _READERS[name](mixed) == _READERS[name](before) else after


def _kind(path: str) -> str:
    """The name under which such a file is read here."""
    name = path.rpartition("/")[2]
    if _TSCONFIG.fullmatch(name):
        return "tsconfig"
    return "vite.config" if _VITE.fullmatch(name) else name


# --- TOML -----------------------------------------------------------------------------

# From pytest 9 on its settings may stand in the second one, as TOML has them.
_TABLES = ("tool.pytest.ini_options", "tool.pytest")


def _pyproject(content: bytes) -> tuple[dict[str, object], ...] | None:
    try:
        tool = parse_toml(content.decode(), bounded=False).get("tool", {})
    except ValueError:
        return None
    own = tool.get("pytest", {}) if isinstance(tool, dict) else {}
    options = own.get("ini_options", {}) if isinstance(own, dict) else {}
    if not isinstance(own, dict) or not isinstance(options, dict):
        return None  # pytest itself ends by it
    return tuple({k: v for k, v in one.items() if k in _PYTEST} for one in (own, options))


def _mix_toml(old: str, new: str) -> str:
    for table in _TABLES:
        wanted = "".join(text for key, text in _toml_keys(old, table) if key in _PYTEST)
        head, body, rest = _toml_table(new, table)
        kept = [text for key, text in _keys_of(body) if key not in _PYTEST]
        if body or head:
            new = head + "".join([*kept, wanted]) + rest
        elif wanted:
            new = f"{new.rstrip()}\n\n[{table}]\n{wanted}"
    return new


def _toml_table(text: str, table: str) -> tuple[str, str, str]:
    """What stands before the body of a table (its header too), the body, and what follows."""
    lines = text.splitlines(keepends=True)
    begin = end = 0
    for number, line in enumerate(lines):
        match = _HEADER.match(line.rstrip("\r\n"))
        if match and begin:
            break
        if match and match["name"].replace('"', "").replace(" ", "") == table:
            begin = number + 1
        end = number + 1
    if not begin:
        return "", "", text
    return "".join(lines[:begin]), "".join(lines[begin:end]), "".join(lines[end:])


def _toml_keys(text: str, table: str) -> Iterator[tuple[str, str]]:
    return _keys_of(_toml_table(text, table)[1])


def _keys_of(body: str) -> Iterator[tuple[str, str]]:
    """Each key of a table's body with its lines; "" for comments and blank lines."""
    at = 0
    while at < len(body):
        match = _KEY.match(body, at)
        end = _end_of_value(body, match.end()) if match else body.find("\n", at) + 1 or len(body)
        yield (match["key"].strip('"') if match else ""), _end_line(body[at:end])
        at = end


def _end_of_value(body: str, at: int) -> int:
    """Where the line ends on which a value does: a list or a text may go on over lines."""
    depth = 0
    for part in _VALUE.finditer(body, at):
        if part[0] == "\n" and depth <= 0:
            return part.end()
        depth += (part[0] in "[{") - (part[0] in "]}")
    return len(body)


def _end_line(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


# --- INI ------------------------------------------------------------------------------


def _ini(content: bytes) -> object:
    keys = _ini_keys(content.decode("utf-8", "replace"))
    return {key: re.split("[=:]", lines, maxsplit=1)[-1].split() for key, lines in keys}


def _ini_keys(text: str) -> Iterator[tuple[str, str]]:
    """Keys of pytest's section with their lines."""
    for _, key, lines in _ini_parts(text):
        if key in _PYTEST:
            yield key, lines


def _ini_parts(text: str) -> Iterator[tuple[bool, str, str]]:
    """The lines of a file in parts: whether they are of pytest's section, their key, the text."""
    inside, key, part = False, "", ""
    for line in text.splitlines(keepends=True):
        goes_on = key and (line[:1] in " \t" or not line.strip())
        if goes_on:
            part += line
            continue
        if part:
            yield inside, key, part
        key, part = "", line
        if line.startswith("["):
            inside = line.strip().strip("[]") in ("pytest", "tool:pytest")
        elif inside and (match := _INI_KEY.match(line)):
            key = match["key"]
    if part:
        yield inside, key, part


def _mix_ini(old: str, new: str) -> str:
    wanted = "".join(_end_line(lines) for _, lines in _ini_keys(old))
    told, done = [], False
    for inside, key, part in _ini_parts(new):
        if key not in _PYTEST or not inside:
            told.append(_end_line(part))
        if inside and not key and part.startswith("[") and not done:
            told.append(wanted)
            done = True
    if not done and wanted:
        # Of files of this form only setup.cfg is mixed, where the section has this name.
        told.append(f"\n[tool:pytest]\n{wanted}")
    return "".join(told)


# --- package.json -----------------------------------------------------------------------


def _package(content: bytes) -> object:
    try:
        table = parse_json(content)
    except ValueError:
        return None
    return _selection_table(table) if isinstance(table, dict) else None


def _selection_table(table: dict[str, object]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    scripts = table.get("scripts")
    if isinstance(scripts, dict):
        found["scripts"] = {key: text for key, text in scripts.items() if _SCRIPT.search(key)}
    for tool in _TOOLS:
        said = table.get(tool)
        if isinstance(said, dict):
            found[tool] = {key: value for key, value in said.items() if key in _JEST}
    return {key: value for key, value in found.items() if value}


def _mix_package(old: str, new: str) -> str:
    try:
        was, now = parse_json(old), parse_json(new)
    except ValueError:
        return new
    if not isinstance(was, dict) or not isinstance(now, dict):
        return new
    before, after = _selection_table(was), _selection_table(now)
    for name in {*before, *after}:
        said = now.get(name)
        own = dict(said) if isinstance(said, dict) else {}
        drop, put = after.get(name, {}), before.get(name, {})
        now[name] = {key: value for key, value in own.items() if key not in drop} | put
    return json.dumps(now, indent=2) + "\n"


_READERS: dict[str, Callable[[bytes], object]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _ini,
    "package.json": _package,
    "Cargo.toml": cargo,
    "tsconfig": tsconfig,
    "vite.config": vite,
}
_MIXERS: dict[str, Callable[[str, str], str]] = {
    "pyproject.toml": _mix_toml,
    "setup.cfg": _mix_ini,
    "package.json": _mix_package,
    "Cargo.toml": mix_cargo,
    "vite.config": mix_vite,
}
