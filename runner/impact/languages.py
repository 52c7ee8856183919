"""The languages whose files say what they refer to; one module each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.impact import golang, javascript, python, rust

if TYPE_CHECKING:
    from collections.abc import Callable


def _no_names(path: str, content: bytes) -> frozenset[str]:
    del path, content
    return frozenset()


@dataclass(frozen=True, slots=True)
class Language:
    """How files of one language are read; all keys are texts that only have to be equal."""

    name: str
    suffixes: tuple[str, ...]
    files: tuple[str, ...]
    """Names of manifests that give a name to what lies beside them."""
    refers: Callable[[str, bytes], frozenset[str]]
    """Path and content to the keys that a file refers to."""
    keys: Callable[[str], tuple[str, ...]]
    """Path to the keys by which others refer to it."""
    names: Callable[[str, bytes], frozenset[str]] = _no_names
    """Path and content to further keys, which only a manifest's content says."""
    wide: tuple[str, ...] = ()
    """Keys of files that may refer to anything of this language."""


LANGUAGES = (
    Language(
        "python",
        (".py", ".pyi"),
        (),
        python.refers,
        python.keys,
        wide=(python.UNREADABLE, python.DYNAMIC),
    ),
    Language(
        "javascript",
        javascript.SUFFIXES,
        ("package.json",),
        javascript.refers,
        javascript.keys,
        javascript.names,
        wide=(javascript.DYNAMIC,),
    ),
    Language("go", (".go",), ("go.mod",), golang.refers, golang.keys, golang.names),
    Language("rust", (".rs",), ("Cargo.toml",), rust.refers, rust.keys, rust.names),
)


def language_of(path: str) -> Language | None:
    """The language of a file, by its name; None for data and for languages not known here."""
    name = path.rpartition("/")[2]
    for language in LANGUAGES:
        if name.endswith(language.suffixes) or name in language.files:
            return language
    return None


def is_manifest(path: str) -> bool:
    """Whether a file gives a name to what lies beside it."""
    name = path.rpartition("/")[2]
    return any(name in language.files for language in LANGUAGES)


def literal_keys(path: str) -> tuple[str, ...]:
    """The keys of a file that text in code may name: by its name, and with its folder."""
    parts = path.split("/")
    found = {"lit:" + "/".join(parts[-2:])}
    if parts[-1] != "__init__.py":  # every package has one
        found.add("lit:" + parts[-1])
    if path.endswith(".py"):
        found |= {*python.keys_when_started(path)}
    return tuple(sorted(found))


def folder_keys(path: str) -> tuple[str, ...]:
    """The keys of the folders of a file, which code may name to read all that lies there."""
    return tuple(f"dir:{part}" for part in path.split("/")[:-1])
