"""Settings of type checkers, linters and tests that a change makes looser.

A table of key patterns says which direction is looser. What it does not have is not judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.facts import Fact, Trees, read_text, skip_file
from runner.surface.nodes import UnreadableError
from runner.surface.setting_files import find_reader, read_settings
from runner.surface.symbols import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRICT = regex(
    r"(?:mypy|pyright|tsconfig)\b.*\.(?:strict\w*|disallow_\w+|warn_\w+|check_\w+|no_implicit_\w+"
    r"|extra_checks|no[A-Z]\w+(?<!noEmit)(?<!noLib)|exactOptional\w+|useUnknown\w+|alwaysStrict)\Z"
    r"|pytest\.(?:xfail_strict|strict\w*)\Z|coverage\.(?:run\.)?branch\Z|.*\.bail\Z"
)
"""Truths that are stricter when they are on."""
_LOOSE = regex(
    r"(?:mypy|pyright|tsconfig)\b.*\.(?:ignore_\w+|allow\w+|implicit_\w+|skipLibCheck|suppress\w+)\Z"
    r"|.*\.(?:passWithNoTests|allowOnly|dangerouslyIgnoreUnhandledErrors|ignore_errors)\Z"
)
"""Truths that are looser when they are on."""
_FLOOR = regex(r".*\b(?:fail_under|branches|lines|functions|statements|target|min[-_]confidence)\Z")
"""Numbers that are looser when they are lower."""
_CEILING = regex(r".*(?:[tT]ime[-_]?[oO]ut|\.max[-_]?\w*|\.retries|reruns|[tT]hreshold)\Z")
"""Numbers that are looser when they are higher."""
_GROWS = regex(
    r".*(?:\.|_|-)(?:ignore|exclude|omit|disable|skips|ignore_names|exclude_\w+|disable_error_code"
    r"|norecursedirs|ignorePatterns|ignores|\w+IgnorePatterns|exclude-rules|per-file-ignores\..*"
    r"|per-file-ignores|extend-per-file-ignores\..*|disabled?|exclude_also)\Z"
)
"""Lists that are looser when they are longer."""
_SHRINKS = regex(
    r".*(?:\.|_|-)(?:select|enable|enable_error_code|testpaths|files|packages|source|include"
    r"|python_files|python_classes|python_functions|strict)\Z"
)
"""Lists that are looser when they are shorter."""
_LEVEL_KEY = regex(r"(?:eslint|biome|cargo|pyright|basedpyright)\b")
_LEVELS = (
    ("off", "none", "allow", "0", "false"),
    ("warn", "warning", "information", "1", "basic"),
    ("error", "deny", "2", "true", "on", "standard"),
    ("forbid", "strict"),
)
"""Words for how much a rule counts, the loosest first."""
_HIDES = regex(
    r"--(?:ignore|deselect|ignore-glob)\b|-[km]\b|-p\s*no:|--no-cov|--reruns|-W\s*ignore|--pyargs"
)
_HOLDS = regex(r"--strict\S*|-W\s*error|--cov(?!-report)\S*|--doctest\S*|-x\Z")
_TITLE = "loosens settings"
_IN_PLACE = {
    **dict.fromkeys(("mypy.ini", ".mypy.ini"), "mypy"),
    **dict.fromkeys(("ruff.toml", ".ruff.toml"), "ruff"),
    **dict.fromkeys(("pytest.ini", ".pytest.ini"), "pytest"),
    ".coveragerc": "coverage",
}
"""Files that a tool reads in place of pyproject.toml in the same folder."""


def find_looser(trees: Trees) -> Iterator[Fact]:
    """Yield the settings that became looser; one that moved to another file did not."""
    before, after = dict[str, tuple[object, str]](), dict[str, tuple[object, str]]()
    for change in trees.changes:
        path = change.path
        if find_reader(path) is None or (trees.is_test(path) and "conftest" in path):
            continue
        was, now = trees.before(path), change.content
        folder = path.rpartition("/")[0]
        try:
            for version, content in ((before, was), (after, now)):
                values = read_settings(path, read_text(content) or "")
                version.update({f"{folder}:{key}": (one, path) for key, one in values.items()})
        except UnreadableError as error:
            yield skip_file(path, str(error))
        except (ValueError, AttributeError, TypeError, RecursionError):
            yield skip_file(path, "it cannot be read")
        if was is None and now is not None:
            yield from _find_replaced(path, trees)
    for full in before.keys() | after.keys():
        (old, was_at), (new, is_at) = before.get(full, (None, "")), after.get(full, (None, ""))
        if old != new and (was_at or trees.before(is_at) is not None):
            yield from _compare(full.partition(":")[2], old, new, is_at or was_at)


def _find_replaced(path: str, trees: Trees) -> Iterator[Fact]:
    """Yield a new file that hides the settings of a tool in pyproject.toml."""
    folder, _, name = path.rpartition("/")
    other = f"{folder}/pyproject.toml".lstrip("/")
    tool = _IN_PLACE.get(name)
    text = read_text(trees.after(other)) or ""
    if tool and re.search(rf"^\[+tool\.{tool}\b", text, re.MULTILINE):
        message = f"{name} replaces the settings of {tool} in {other}"
        yield Fact("setting", message, path, 0, (path, name), is_breaking=True)


def _compare(key: str, old: object, new: object, path: str) -> Iterator[Fact]:
    items: list[str] = []
    if _LEVEL_KEY.match(key) and (level := _level(old)) is not None:
        lower = _level(new)
        looser = lower is not None and lower < level
    elif key.endswith("addopts"):
        items = [*_options(old, new)]
        looser = bool(items)
    elif isinstance(old, bool) or isinstance(new, bool):
        looser = (old is True and new is not True and bool(_STRICT.match(key))) or (
            new is True and old is not True and bool(_LOOSE.match(key))
        )
    elif _is_number(old) or _is_number(new):
        looser = _is_looser_number(key, old, new)
    else:
        items = [*_entries(key, old, new)]
        looser = bool(items)
    if looser:
        said = ", ".join(items[:5]) or f"{_show(old)} → {_show(new)}"
        parts = (one.partition(" ")[2] for one in items)
        names = (path, path.rpartition("/")[2], *_names(key), *parts)
        yield Fact("setting", f"{key} ({said})", path, 0, names, is_breaking=True, title=_TITLE)


def _names(key: str) -> tuple[str, ...]:
    """Return the whole key, and its last part where that is no plain word."""
    last = key.rpartition(".")[2]
    return (key, last) if re.search(r"[a-z][A-Z]|[_-]", last) else (key,)


def _level(value: object) -> int | None:
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        first = first.get("level")
    said = str(int(first) if isinstance(first, float) else first).lower()
    return next((rank for rank, words in enumerate(_LEVELS) if said in words), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_looser_number(key: str, old: object, new: object) -> bool:
    if _FLOOR.match(key):
        return _is_number(old) and (new is None or (_is_number(new) and new < old))  # type: ignore[operator]
    if _CEILING.match(key):
        return _is_number(old) and _is_number(new) and new > old  # type: ignore[operator]
    return False


def _entries(key: str, old: object, new: object) -> Iterator[str]:
    """Yield what a list gained or lost, where that is looser."""
    were, are = _as_list(old), _as_list(new)
    if _GROWS.match(key):
        yield from (f"with {one}" for one in are if one not in were)
    elif _SHRINKS.match(key) and not (set(are) & {"ALL", "all"}):
        yield from (f"without {one}" for one in were if one not in are)
    elif key.startswith("pre-commit") and key.endswith(".id"):
        yield from (f"without {one}" for one in were if not are)
    elif key.endswith("filterwarnings"):
        yield from (f"with {one}" for one in are if one not in were and one.startswith("ignore"))
        yield from (f"without {one}" for one in were if one not in are and one.startswith("error"))


def _as_list(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [one for one in re.split(r"[,\n]\s*|\s+(?=\w+\d)", value) if one]
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _options(old: object, new: object) -> Iterator[str]:
    """Yield the options of pytest that hide tests and are new, or hold them strict and went."""
    were, are = (" ".join(_as_list(one)) for one in (old, new))
    yield from (f"with {one[0]}" for one in _HIDES.finditer(are) if one[0] not in were)
    yield from (f"without {one[0]}" for one in _HOLDS.finditer(were) if one[0] not in are)


def _show(value: object) -> str:
    if value is None:
        return "not set"
    return (
        str(value).lower()
        if isinstance(value, bool)
        else shorten(f"{value:g}" if isinstance(value, float) else str(value))
    )
