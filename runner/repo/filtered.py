"""Detect files with git filters, such as Git LFS: plumbing stores them unfiltered."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from runner.config.paths import expand_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.repo.read import Repository

_NAME = ".gitattributes"
_OF_ALL = Path("/etc/gitattributes")


def find_filtered(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths with a git filter; skip git if no attributes file exists."""
    if not any(map(os.path.lexists, _find_places(repository, paths))):
        return ()
    found = repository.attributes(paths, ("filter",))
    return tuple(path for path, attributes in found.items() if attributes.get("filter"))


def _find_places(repository: Repository, paths: Sequence[str]) -> Iterator[Path]:
    """Yield the attribute files that git reads for these paths (gitattributes(5))."""
    folders, named = repository.folders, repository.configuration().value("core.attributesfile")
    own = f"{os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/attributes"
    yield from (folders.common / "info/attributes", expand_home(named or own), _OF_ALL)
    above = (PurePosixPath(repository.prefix.whole(path)).parents for path in paths)
    yield from {folders.top / folder / _NAME: None for each in above for folder in each}
