"""Settings of type checkers, linters and tests that a change makes looser.

A table of key patterns says which direction is looser. What it does not have is not judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.facts import Fact, Trees, read_text, skip_file
from runner.surface.nodes import UnreadableError
from runner.surface.setting_files import is_setting_file, read_settings
from runner.surface.symbols import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRICT = regex(
    r"(?:mypy|pyright|tsconfig)\b.*\.(?:strict\w*|disallow_\w+|warn_\w+|check_\w+|no_implicit_\w+"
    r"|extra_checks|no(?!Emit\b|Lib\b)[A-Z]\w+|exactOptional\w+|useUnknown\w+|alwaysStrict)"
    r"|pytest\.(?:xfail_strict|strict\w*)|coverage\.branch|.*\.bail"
)
"""Truths that are stricter when they are on."""
_LOOSE = regex(
    r"(?:mypy|pyright|tsconfig)\b.*\.(?:(?:ignore|allow|implicit)_\w+|allow(?:Js|Un\w+)|skipLibCheck|suppress\w+)"
    r"|.*\.(?:passWithNoTests|allowOnly|dangerouslyIgnoreUnhandledErrors|ignore_errors)"
)
"""Truths that are looser when they are on."""
_FLOOR = regex(r".*\b(?:fail_under|branches|lines|functions|statements|target|min[-_]confidence)")
"""Numbers that are looser when they are lower."""
_CEILING = regex(r".*(?:[tT]ime[-_]?[oO]ut|\.max[-_]?\w*|\.retries|reruns)")
"""Numbers that are looser when they are higher."""
_GROWS = regex(
    r".*(?:\.|_|-)(?:ignore|exclude|omit|disabled?|skips|ignore_names|exclude_\w+|norecursedirs"
    r"|disable_error_code|ignores|\w*[iI]gnorePatterns|exclude-rules|per-file-ignores(?:\..*)?)"
)
"""Lists that are looser when they are longer."""
_SHRINKS = regex(r".*(?:\.|_|-)(?:select|enable|enable_error_code|strict)|pre-commit.*\.id")
"""Lists that are looser when they are shorter."""
_PLACES = regex(
    r"(?:mypy|(?:based)?pyright|coverage|pytest|tsconfig)\.(?:testpaths|files|packages|source|include"
    r"|python_(?:files|classes|functions))"
)
"""Lists that are looser when they lose something and gain nothing: else places were renamed."""
_LEVEL_KEY = regex(r"(?:eslint|biome|cargo|pyright|basedpyright)\b.*")
_LEVELS = (
    ("off", "none", "allow", "0", "false"),
    ("warn", "warning", "information", "1", "basic"),
    ("error", "deny", "2", "true", "on", "standard"),
    ("forbid", "strict"),
)
"""Words for how much a rule counts, the loosest first."""
_HIDES = regex(
    r"--(?:ignore|deselect|ignore-glob)\b|-[km]\b|-p\s*no:|--no-cov|--reruns|-W\s*ignore"
)
_HOLDS = regex(r"--strict\S*|-W\s*error|--cov(?!-report)\S*|--doctest\S*|-x\b")
_INSTEAD = regex(r"(?:.*/)?\.?(?:(mypy|ruff|pytest)\.(?:ini|toml)|(coverage)rc)")
"""Files that a tool reads in place of pyproject.toml in the same folder."""


def find_looser(trees: Trees) -> Iterator[Fact]:
    """Yield the settings that became looser; one that moved to another file did not."""
    before, after = dict[str, tuple[object, str]](), dict[str, tuple[object, str]]()
    for path in (one.path for one in trees.changes if is_setting_file(one.path)):
        folder = path.rpartition("/")[0]
        try:
            contents = trees.before(path), trees.after(path)
            versions = [read_settings(path, read_text(one) or "") for one in contents]
            for known, values in zip((before, after), versions, strict=True):
                known.update({f"{folder}:{key}": (one, path) for key, one in values.items()})
        except UnreadableError as error:
            yield skip_file(path, str(error))
        except (ValueError, AttributeError, TypeError, RecursionError):
            yield skip_file(path, "it cannot be read")
        tool = _INSTEAD.fullmatch(path)
        other = f"{folder}/pyproject.toml".lstrip("/")
        hidden = f"[tool.{tool[1] or tool[2]}" if tool and trees.before(path) is None else "\0"
        if hidden in (read_text(trees.after(other)) or "") and trees.after(path) is not None:
            message = f"{path} replaces the settings in {other}"
            yield Fact("setting", message, path, 0, (path,), is_breaking=True)
    for full in sorted(before.keys() | after.keys()):
        (old, was_at), (new, is_at) = before.get(full, (None, "")), after.get(full, (None, ""))
        if old != new and (was_at or trees.before(is_at) is not None):
            yield from _compare(full.partition(":")[2], old, new, is_at or was_at)


def _compare(key: str, old: object, new: object, path: str) -> Iterator[Fact]:
    items = [*_find_items(key, _as_list(old), _as_list(new))]
    if items or _is_looser(key, old, new):
        said = ", ".join(items[:5]) or f"{_show(old)} → {_show(new)}"
        parts = (one.partition(" ")[2] for one in items)
        last = key.rpartition(".")[2]
        own = (key, last) if re.search(r"[a-z][A-Z]|[_-]", last) else (key,)  # else a plain word
        names = (path, path.rpartition("/")[2], *own, *parts)
        message, title = f"{key} ({said})", "loosens settings"
        yield Fact("setting", message, path, 0, names, is_breaking=True, title=title)


def _is_looser(key: str, old: object, new: object) -> bool:
    """Return whether a truth, a level or a number is looser."""
    level, now = _level(old), _level(new)
    if _LEVEL_KEY.fullmatch(key) and level is not None:
        return now is not None and now < level
    if isinstance(old, bool) or isinstance(new, bool):
        went = old is True and new is not True and _STRICT.fullmatch(key) is not None
        return went or (new is True and old is not True and _LOOSE.fullmatch(key) is not None)
    if isinstance(old, int | float) and isinstance(new, int | float | None):
        if _FLOOR.fullmatch(key):
            return new is None or new < old
        return new is not None and new > old and _CEILING.fullmatch(key) is not None
    return False


def _level(value: object) -> int | None:
    if value is None:
        return None
    first = value[0] if isinstance(value, list) and value else value
    first = first.get("level") if isinstance(first, dict) else first
    said = str(int(first) if isinstance(first, float) else first).lower()
    return next((rank for rank, words in enumerate(_LEVELS) if said in words), None)


def _find_items(key: str, old: list[str], new: list[str]) -> Iterator[str]:
    """Yield what a list gained or lost, where that is looser."""
    if key.endswith("addopts"):
        were, are = " ".join(old), " ".join(new)
        yield from (f"with {one[0]}" for one in _HIDES.finditer(are) if one[0] not in were)
        yield from (f"without {one[0]}" for one in _HOLDS.finditer(were) if one[0] not in are)
    elif key.endswith("filterwarnings"):
        yield from (f"with {one}" for one in new if one not in old and one.startswith("ignore"))
        yield from (f"without {one}" for one in old if one not in new and one.startswith("error"))
    elif _GROWS.fullmatch(key):
        yield from (f"with {one}" for one in new if one not in old)
    elif _SHRINKS.fullmatch(key) and "all" in map(str.lower, new):
        return
    elif _SHRINKS.fullmatch(key) or (_PLACES.fullmatch(key) and set(new) < set(old)):
        yield from (f"without {one}" for one in old if one not in new)


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
