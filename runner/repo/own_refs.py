"""Refs of the runner's own that are one plan's: their names, and which of them are there."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.repo.read import Repository

_BELOW = "refs/runner"
_OF = "of-"


def own_name(repo: Repository, name: str) -> str:
    """A name below `refs/runner/` for what is one plan's: every folder's, and every work tree's.

    They all share the refs of the repository, and each plan has its own TASK-001. The plan at the
    top of the first work tree has the plain name.
    """
    linked = repo.folders.git != repo.folders.common
    tree = repo.folders.git.name if linked else ""
    if not tree and not repo.prefix.value:
        return name
    place = sha256(os.fsencode(f"{tree}\0{repo.prefix.value}")).hexdigest()[:12]
    return f"{_OF}{place}/{name}"


def find_own_name(repo: Repository, name: str) -> str:
    """The name by which a ref is there now that a journal has by this name, perhaps an older one.

    The first versions gave all plans of a repository the plain names; see `old_refs`.
    """
    if name.startswith(_OF):
        return name
    own = own_name(repo, name)
    return own if repo.resolve(f"{_BELOW}/{own}") is not None else name


def list_refs(repo: Repository, name: str) -> tuple[str, ...]:
    """All refs below `refs/runner/<name>/`, as they are called below it; asks no git.

    Git keeps a ref as a file, or after `git pack-refs` as a line (gitrepository-layout(5)).
    """
    common, below = repo.folders.common, f"{_BELOW}/{name}/"
    if (common / "reftable").is_dir():  # refs are then neither
        out = repo.git.run("for-each-ref", "--format=%(refname)", below)
        found = os.fsdecode(out).splitlines()
        return tuple(sorted(one.removeprefix(below) for one in found))
    return tuple(sorted({*_list_loose(common / below), *_list_packed(common, below)}))


def _list_loose(folder: Path) -> Iterator[str]:
    for top, _, files in os.walk(folder):
        for file in files:
            # Beside a ref lies git's own lock while that is written, which is no ref.
            if not file.endswith(".lock"):
                yield os.path.relpath(os.path.join(top, file), folder)  # noqa: PTH118 - names alone


def _list_packed(common: Path, below: str) -> Iterator[str]:
    packed = b""
    with suppress(OSError):
        packed = (common / "packed-refs").read_bytes()
    mark = f" {below}".encode()
    at = packed.find(mark)
    while at >= 0:
        line = packed[at + 1 :].partition(b"\n")[0]
        yield os.fsdecode(line).removeprefix(below)
        at = packed.find(mark, at + len(line))
