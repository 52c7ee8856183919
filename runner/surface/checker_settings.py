"""Find settings of type checkers, linters and tests that a change loosens.

A table of key patterns says which direction is looser. What it does not have is not judged.
"""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.change_facts import Fact, Trees, read_text, shorten, skip_file
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TOOLS = regex(r"mypy|ruff|pytest|coverage")
_INI = {"run": "coverage", "report": "coverage"}
_COMMENT = regex(r"(\"(?:\\.|[^\"\\])*+\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_OTHER_TABLE = regex(r"\A(ruff(?=\.lint)|pytest(?=\.ini_)|coverage(?=\.r))\.\w+\.")
"""Tables whose keys a tool also reads in another place."""
_DEEPEST = 8
_STRICT = regex(
    r"(?:mypy|tsconfig)\b.*\.(?:strict\w*|disallow_\w+|warn_\w+|check_\w+|no_implicit_\w+"
    r"|extra_checks|no(?!Emit\b|Lib\b)[A-Z]\w+|exactOptional\w+|useUnknown\w+|alwaysStrict)"
    r"|pytest\.(?:xfail_strict|strict\w*)|coverage\.branch"
)
"""Booleans that are stricter when on."""
_LOOSE = regex(
    r"(?:mypy|tsconfig)\b.*\.(?:(?:ignore|allow|implicit)_\w+|allow(?:Js|Un\w+)|skipLibCheck)"
)
"""Booleans that are looser when on."""
_FLOOR = regex(r"coverage\.fail_under")
"""Numbers that are looser when they are lower."""
_GROWS = regex(
    r".*[._-](?:ignore|exclude|omit|ignore_names|exclude_\w+|norecursedirs|disable_error_code"
    r"|ignorePatterns|per-file-ignores(?:\..*)?)"
)
"""Lists that are looser when they are longer."""
_SHRINKS = regex(r".*[._-](?:select|enable_error_code)")
"""Lists that are looser when they are shorter."""
_LEVELS = (("off", "0"), ("warn", "1"), ("error", "2"))
"""eslint's severities of a rule, the loosest first."""
_HIDES = regex(
    r"--(?:ignore|deselect|ignore-glob)\b|-[km]\b|-p\s*no:|--no-cov|--reruns|-W\s*ignore"
)
_HOLDS = regex(r"--strict\S*|-W\s*error|--cov(?!-report)\S*|--doctest\S*|-x\b")


def find_looser(trees: Trees) -> Iterator[Fact]:
    """Yield the settings that became looser; one that moved to another file did not."""
    before, after = dict[str, tuple[object, str]](), dict[str, tuple[object, str]]()
    for path in (one.path for one in trees.changes if _find_row(one.path)):
        folder = path.rpartition("/")[0]
        try:
            contents = trees.before(path), trees.after(path)
            versions = [_read_settings(path, read_text(one) or "") for one in contents]
            for known, values in zip((before, after), versions, strict=True):
                known.update({f"{folder}:{key}": (one, path) for key, one in values.items()})
        except (ValueError, AttributeError, TypeError, RecursionError):
            yield skip_file(path, "the file cannot be read")
    for full in sorted(before.keys() | after.keys()):
        (old, was_at), (new, is_at) = before.get(full, (None, "")), after.get(full, (None, ""))
        if old != new and (was_at or trees.before(is_at) is not None):
            yield from _compare(full.partition(":")[2], old, new, is_at or was_at)


def _compare(key: str, old: object, new: object, path: str) -> Iterator[Fact]:
    items = [*_find_items(key, _as_list(old), _as_list(new))]
    if items or _is_looser(key, old, new):
        shown = ", ".join(items[:5]) or f"{_show(old)} → {_show(new)}"
        parts = (one.partition(" ")[2] for one in items)
        last = key.rpartition(".")[2]
        own = (key, last) if re.search(r"[a-z][A-Z]|[_-]", last) else (key,)  # else a plain word
        names = (path, path.rpartition("/")[2], *own, *parts)
        message, title = f"{key} ({shown})", "loosens settings"
        yield Fact("setting", message, path, 0, names, is_breaking=True, title=title)


def _is_looser(key: str, old: object, new: object) -> bool:
    """Return whether a level, a number or a truth is looser."""
    if key.startswith("eslint."):
        level, now = _level(old), _level(new)
        return level is not None and now is not None and now < level
    if _FLOOR.fullmatch(key):
        numbers = [one if isinstance(one, int | float) else 0 for one in (old, new)]
        return numbers[1] < numbers[0]
    went_off = old is True and new is not True and _STRICT.fullmatch(key) is not None
    return went_off or (new is True and old is not True and _LOOSE.fullmatch(key) is not None)


def _level(value: object) -> int | None:
    first = str(value[0] if isinstance(value, list) and value else value)
    return next((rank for rank, words in enumerate(_LEVELS) if first in words), None)


def _find_items(key: str, old: list[str], new: list[str]) -> Iterator[str]:
    """Yield what a list gained or lost, where that is looser."""
    if key.endswith("addopts"):
        were, are = " ".join(old), " ".join(new)
        yield from (f"adds {one[0]}" for one in _HIDES.finditer(are) if one[0] not in were)
        yield from (f"removes {one[0]}" for one in _HOLDS.finditer(were) if one[0] not in are)
    elif _GROWS.fullmatch(key):
        yield from (f"adds {one}" for one in new if one not in old)
    elif _SHRINKS.fullmatch(key) and "ALL" not in new:
        yield from (f"removes {one}" for one in old if one not in new)


def _as_list(value: object) -> list[str]:
    """Return the entries of a list, which may be written as one text; none for a number."""
    if isinstance(value, str):
        return [one for one in re.split(r"[,\n]\s*", value) if one]
    return [str(one) for one in value] if isinstance(value, list) else []


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return "not set" if value is None else shorten(shown)


def _read_settings(path: str, text: str) -> dict[str, object]:
    """Return the settings of a file by `tool.key`. Raises ValueError for what cannot be read."""
    row = _find_row(path)
    if row is None or not text.strip():
        return {}
    _, tool, read = row
    rows = _flatten(read(text), tool, 0)
    found = {_OTHER_TABLE.sub(r"\1.", key): value for key, value in rows}
    return {key: one for key, one in found.items() if tool or _TOOLS.match(key)}


def _find_row(path: str) -> tuple[str, str, Callable[[str], object]] | None:
    name = path.rpartition("/")[2]
    return next((row for row in _FILES if re.fullmatch(row[0], name)), None)


def _flatten(value: object, above: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables; a list of tables is numbered."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        value = {str(one.get("module", place)): one for place, one in enumerate(value)}
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _flatten(inner, f"{above}.{key}".lstrip("."), depth + 1)
    else:
        yield above, value


def _read_ini(text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    found = dict[str, dict[str, object]]()
    for section in parser.sections():
        name = _INI.get(section, section.removeprefix("tool:"))
        key = re.split(r"[-:]", name)[0]  # of [mypy-package.*] and [coverage:run] the tool
        module = name.partition("-")[2]
        values = {k: _value(v) for k, v in parser.items(section)}
        found.setdefault(f"{key}.{module}".rstrip("."), {}).update(values)
    return found


def _value(text: str) -> object:
    """Return an INI value as what it means: a truth, a number, or a list."""
    value = text.strip().lower()
    if value in ("true", "yes", "on", "false", "no", "off"):
        return value in ("true", "yes", "on")
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return float(value)
    return [part.strip() for part in re.split(r"[,\n]|#[^\n]*", text) if part.strip()]


def _read_json(text: str) -> object:
    return parse_json(_COMMENT.sub(lambda match: match[1] or "", text))


_FILES: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    (r"pyproject\.toml", "", lambda text: parse_toml(text).get("tool")),
    (r"\.?ruff\.toml", "ruff", parse_toml),
    (r"\.?(?:mypy|pytest|tox)\.ini|setup\.cfg|\.coveragerc", "", _read_ini),
    (r"(?:ts|js)config[\w.-]*\.json", "tsconfig", _read_json),
    (r"\.eslintrc(?:\.json)?", "eslint", _read_json),
)
"""File names, their tool, and their parser."""
