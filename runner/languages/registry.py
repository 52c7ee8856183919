"""The languages that the house knows: a folder and a line each, imported when asked for."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runner.languages.base import Language


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """What has to be known of a language before it is imported."""

    name: str
    """The folder beside this file whose `LANGUAGE` it is."""
    code: tuple[str, ...]
    """Suffixes of files that are run or compiled."""
    manifests: tuple[str, ...] = ()
    """Names of files that give a name to what lies beside them."""
    also: tuple[str, ...] = ()
    """Suffixes of files that only refer to code: stubs, templates with scripts in them."""

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
    """Every language, in this order: what is looked for in files of any of them."""
    return tuple(row.language for row in LANGUAGES)


def row_named(name: str) -> LanguageRow:
    """A language by its name: for who measures or starts what only one of them has."""
    return next(row for row in LANGUAGES if row.name == name)


def row_of(path: str) -> LanguageRow | None:
    """The language that a file is of or belongs to, by its name; None for any other file."""
    name = path.rpartition("/")[2]
    for row in LANGUAGES:
        if name.endswith((*row.code, *row.also)) or name in row.manifests:
            return row
    return None


def language_of(path: str) -> Language | None:
    """How a file says what it refers to; None for data and for languages not known here."""
    row = row_of(path)
    return row.language if row else None


def code_row(path: str) -> LanguageRow | None:
    """The language that a file is written in, if it is run or compiled; however it is spelled."""
    name = path.rpartition("/")[2].lower()
    return next((row for row in LANGUAGES if name.endswith(row.code)), None)


def code_language(path: str) -> Language | None:
    """How a file's code is read; None for data, stubs, and languages not known here."""
    row = code_row(path)
    return row.language if row else None


def is_written_in(path: str, name: str) -> bool:
    """Whether a file is code of one language: for what only one of them has."""
    row = code_row(path)
    return row is not None and row.name == name


def is_source(path: str) -> bool:
    """Whether a file holds code, and is no manifest of it."""
    return path.endswith(tuple(one for row in LANGUAGES for one in (*row.code, *row.also)))


def is_manifest(path: str) -> bool:
    """Whether a file gives a name to what lies beside it."""
    name = path.rpartition("/")[2]
    return any(name in row.manifests for row in LANGUAGES)


def literal_keys(path: str) -> tuple[str, ...]:
    """The keys of a file that text in code may name: by its name, and with its folder."""
    parts = path.split("/")
    found = {"lit:" + "/".join(parts[-2:])}
    if parts[-1] != "__init__.py":  # every package has one
        found.add("lit:" + parts[-1])
    language = code_language(path)
    if language is not None and language.started_keys is not None:
        found |= {*language.started_keys(path)}
    return tuple(sorted(found))


def folder_keys(path: str) -> tuple[str, ...]:
    """The keys of the folders of a file, which code may name to read all that lies there."""
    return tuple(f"dir:{part}" for part in path.split("/")[:-1])
