"""The registry of languages: one folder and one line each, imported on first use."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from runner.languages.base import Language


class LanguageRow(Struct, frozen=True):
    """The facts about a language that are needed before its module is imported."""

    name: str
    """Folder next to this file with this `LANGUAGE`."""
    code: tuple[str, ...]
    """Suffixes of files that are executed or compiled."""
    manifests: tuple[str, ...] = ()
    """Names of files that name the files next to them."""
    also: tuple[str, ...] = ()
    """Suffixes of files that only refer to code: stubs, templates with scripts."""

    @property
    def language(self) -> Language:
        """All that is known of it."""
        return _load(self.name)


@cache
def _load(name: str) -> Language:
    language: Language = importlib.import_module(f"{__package__}.{name}").LANGUAGE
    return language


def _row(name: str, code: str, manifests: str = "", also: str = "") -> LanguageRow:
    return LanguageRow(name, tuple(code.split()), tuple(manifests.split()), tuple(also.split()))


LANGUAGES = (
    _row("python", ".py", also=".pyi"),
    _row("javascript", ".js .jsx .mjs .cjs .ts .tsx .mts .cts", "package.json", ".vue .svelte"),
    _row("go", ".go", "go.mod"),
    _row("rust", ".rs", "Cargo.toml"),
)


def all_languages() -> tuple[Language, ...]:
    """Return all languages in registry order."""
    return tuple(row.language for row in LANGUAGES)


def row_named(name: str) -> LanguageRow:
    """Return the language of this name."""
    return next(row for row in LANGUAGES if row.name == name)


def row_of(path: str) -> LanguageRow | None:
    """Return the language of a file by its name, including manifests, or None."""
    name = path.rpartition("/")[2]
    for row in LANGUAGES:
        if name.endswith((*row.code, *row.also)) or name in row.manifests:
            return row
    return None


def language_of(path: str) -> Language | None:
    """Return the language that reads a file's references; None for data and unknown languages."""
    row = row_of(path)
    return row.language if row else None


def code_row(path: str) -> LanguageRow | None:
    """Return the language of a code file by its suffix in any case, or None."""
    name = path.rpartition("/")[2].lower()
    return next((row for row in LANGUAGES if name.endswith(row.code)), None)


def code_language(path: str) -> Language | None:
    """Return the language that reads a file's code; None for data, stubs and unknown languages."""
    row = code_row(path)
    return row.language if row else None


def is_written_in(path: str, name: str) -> bool:
    """Return whether a file is code of one language."""
    row = code_row(path)
    return row is not None and row.name == name


def is_source(path: str) -> bool:
    """Return whether a file contains source code, so it is not a manifest."""
    return path.endswith(tuple(one for row in LANGUAGES for one in (*row.code, *row.also)))


def is_manifest(path: str) -> bool:
    """Return whether a file is a manifest, which names the package in its folder."""
    name = path.rpartition("/")[2]
    return any(name in row.manifests for row in LANGUAGES)


def literal_keys(path: str) -> tuple[str, ...]:
    """Return the keys under which text in code may name a file."""
    parts = path.split("/")
    found = {"lit:" + "/".join(parts[-2:])}
    if parts[-1] != "__init__.py":  # every package has one
        found.add("lit:" + parts[-1])
    language = code_language(path)
    if language is not None and language.started_keys is not None:
        found |= {*language.started_keys(path)}
    return tuple(sorted(found))


def folder_keys(path: str) -> tuple[str, ...]:
    """Return the keys of a file's folders, for code that reads a whole folder."""
    return tuple(f"dir:{part}" for part in path.split("/")[:-1])
