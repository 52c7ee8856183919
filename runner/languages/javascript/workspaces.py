"""Resolve packages of one repository that import each other by name, as npm workspaces do."""

from __future__ import annotations

import json
import re
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# The compiler looks for a package's compiled output, which is in no commit and no tree of a task.
# TS2307: module not found; TS7016: found, without its types.
_MISSING = re.compile(
    r"error TS(?:2307: Cannot find|7016: Could not find a declaration file for) module "
    r"'(?P<name>(?:@[\w.-]+/)?[\w.-]+)(?:/[^']*)?'.*"
)
# References of a project (`references` of tsconfig.json) are also read in compiled form.
_UNBUILT = re.compile(
    r"error TS6305: Output file '[^']*' has not been built from source file '(?P<source>[^']+)'.*"
)
_MANIFESTS = ("*/package.json", "*/*/package.json", "*/*/*/package.json")
_MOST = 500
_DEEPEST = 64
_LARGEST = 1 << 20


def find_unbuilt(tree: Path, message: str) -> str:
    """Return the package or project folder whose missing build is all that the error reports."""
    if (source := _UNBUILT.fullmatch(message)) is not None:
        return _project_of(tree, source["source"])
    found = _MISSING.fullmatch(message)
    if found is None or found["name"].startswith("."):
        return ""
    manifests = chain.from_iterable(tree.glob(pattern) for pattern in _MANIFESTS)
    own = (path for path in manifests if "node_modules" not in path.relative_to(tree).parts)
    return found["name"] if any(_name(one) == found["name"] for one in islice(own, _MOST)) else ""


def _project_of(tree: Path, source: str) -> str:
    """Return the project folder of a source file; empty if this tree has no such file.

    A compiler in a sandbox names files by another root than ours.
    """
    parts = source.strip("/").split("/")[-_DEEPEST:]
    inside = (parts[at:] for at in range(len(parts)) if ".." not in parts)
    own = next((one for one in inside if tree.joinpath(*one).is_file()), [])
    folders = ("/".join(own[:count]) for count in range(len(own) - 1, 0, -1))
    return next((one for one in folders if (tree / one / "tsconfig.json").is_file()), "")


def _name(manifest: Path) -> object:
    try:
        if manifest.is_symlink() or manifest.stat().st_size > _LARGEST:
            return None
        table = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return table.get("name") if isinstance(table, dict) else None
