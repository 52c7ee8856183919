"""Where a repository names pytest outside pyproject.toml: requirements, tox and pytest's own files.

Only reads committed names and bounded files; a comment or a plugin's name does not name pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    import configparser
    from collections.abc import Callable, Iterable, Iterator

    from runner.languages import registry
else:
    configparser = lazy_module("configparser")
    registry = lazy_module("runner.languages.registry")

_MOST_FILES = 50
"""Of those that may name it."""
_COMMENT = regex(r"(?m)(?:^|(?<=\s))#.*$")
_PYTEST = regex(r"(?<![\w./@=-])pytest(?![\w./-])")
_SETTINGS = frozenset({"pytest", "tool:pytest"})
"""Sections that configure pytest itself."""
_OPTIONS = frozenset({"deps", "commands"})
"""Options of a tox environment that hold requirements or commands."""


def find_pytest_place(paths: Iterable[str], read: Callable[[str], str]) -> str:
    """The first of these files that names pytest; empty where none does, or there are no tests."""
    listed = sorted(paths)
    if not any(map(_is_test, listed)):
        return ""
    rows = ((path, find) for pattern, find in _PLACES for path in listed if pattern.fullmatch(path))
    for _, (path, find) in zip(range(_MOST_FILES), rows, strict=False):
        text = read(path)
        if any(_PYTEST.search(_COMMENT.sub("", one)) for one in find(text)):
            return path
    return ""


def may_name_pytest(name: str) -> bool:
    """Whether this name in the first folder is one of the places, or a folder of them."""
    return name == "requirements" or any(place.fullmatch(name) for place, _ in _PLACES)


def _is_test(path: str) -> bool:
    row = registry.code_row(path)
    pattern = row.language.test_file if row and row.name == "python" else None
    return bool(pattern and pattern.search(path))


def _read_lines(text: str) -> Iterator[str]:
    yield text


def _read_ini(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (ValueError, configparser.Error):
        return
    for section in parser.sections():
        if section in _SETTINGS:
            yield "pytest"
        for option, value in parser.items(section):
            if option in _OPTIONS:
                yield value or ""


def _read_toml(text: str) -> Iterator[str]:
    try:
        table = parse_toml(text)
    except ValueError:
        return
    environments = table.get("env")
    named = environments.values() if isinstance(environments, dict) else ()
    for one in (table.get("env_run_base"), *named):
        for option in _OPTIONS if isinstance(one, dict) else ():
            yield from _list_texts(one.get(option))


def _list_texts(value: object) -> Iterator[str]:
    """The texts of a list, or of lists in it: a command of tox.toml is a list of words."""
    for one in value if isinstance(value, list) else ():
        for text in one if isinstance(one, list) else (one,):
            if isinstance(text, str):
                yield text


_PLACES = (
    # path, and what of it can name pytest
    (regex(r"[^/]*requirements[^/]*\.txt|requirements/[^/]+\.txt"), _read_lines),
    (regex(r"tox\.ini|setup\.cfg|pytest\.ini"), _read_ini),
    (regex(r"tox\.toml"), _read_toml),
)
