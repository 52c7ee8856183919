"""The tools that read: list, read, search. They never follow a link, and show nothing private."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.config.permissions import evaluate_permission
from runner.config.shell_rules import Permit
from runner.context.skills import load_built_in_text
from runner.context.visibility import LARGEST, is_private, read_text
from runner.implementers.llm.tool_context import Refusal, ToolContext, normalize_path
from runner.plan.globs import matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.implementers.llm.arguments import ListFiles, ReadFile, Search

MOST_FILES = 500
MOST_HITS = 100
MOST_BYTES = 32 << 20
"""Read for one search, all files together."""
_WIDEST = 240
_LEFT_OUT = frozenset(
    (
        *("__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache"),
        *(".pytest_cache", ".hypothesis", "target", ".gradle", ".terraform"),
    )
)
_ONE_OF_ALL = 1 << 16
"""Files that are looked at before a listing gives up."""


def list_files(desk: ToolContext, asked: ListFiles) -> str:
    """Paths with their sizes, in order."""
    found = []
    for path, size in _files(desk, asked.folder, "list_files"):
        if not asked.pattern or matches(asked.pattern, path):
            found.append(f"{path} ({size} bytes)")
        if len(found) > MOST_FILES:
            found[-1] = f"… and more than these {MOST_FILES}: name a folder or a pattern"
            break
    return "\n".join(found) or "there are no such files"


def read_file(desk: ToolContext, asked: ReadFile) -> str:
    """A file's text, or some of its lines."""
    if (skill := load_built_in_text(asked.path)) is not None:
        return skill
    path = normalize_path(asked.path)
    if why := _not_allowed(desk, path):
        return Refusal(why)
    text, why = read_text(desk.project, path)
    if why:
        return Refusal(f"not shown: {why}")
    if asked.first_line == 1 and asked.last_line is None:
        return text or "(the file is empty)"
    lines = text.splitlines(keepends=True)
    part = "".join(lines[asked.first_line - 1 : asked.last_line])
    return part or f"{path} has {len(lines)} lines"


def search(desk: ToolContext, asked: Search) -> str:
    """The lines that match, as `path:line: text`."""
    import re2

    options = re2.Options()
    options.case_sensitive = not asked.ignore_case
    options.log_errors = False
    try:
        expression = re2.compile(asked.pattern, options)
    except re2.error as error:
        return f"not a regular expression of RE2: {error}"
    hits: list[str] = []
    read = 0
    for path, size in _files(desk, asked.folder, "search"):
        if size > LARGEST or _not_allowed(desk, path):
            continue
        read += size
        text, _ = read_text(desk.project, path)
        for number, line in enumerate(text.splitlines(), 1):
            if expression.search(line):
                hits.append(f"{path}:{number}: {line.strip()[:_WIDEST]}")
        if len(hits) > MOST_HITS or read > MOST_BYTES:
            return "\n".join([*hits[:MOST_HITS], "… and more: search in a folder, or for less"])
    return "\n".join(hits) or "nothing matches"


def _not_allowed(desk: ToolContext, path: str) -> str:
    """Why this file is not read, by the person's own globs and rules; empty where it may be."""
    for allow in desk.settings.read_allowed:
        if not any(matches(glob, path) for glob in allow):
            return f"not shown: read_allow leaves {path} out"
    if desk.book.word("read_file", path).permit is not Permit.ALLOW:
        return f"not shown: the permission rules of the settings leave {path} out"
    return ""


def _files(desk: ToolContext, folder: str, tool: str) -> Iterator[tuple[str, int]]:
    """Plain files below a folder that may be named, with their sizes, folder by folder."""
    inside = "" if folder in (".", "./") else normalize_path(folder)
    seen = _visible_permits(desk, tool, inside)
    for number, (path, size) in enumerate(_walk_files(desk, inside)):
        if number > _ONE_OF_ALL:
            return
        if not is_private(path) and desk.book.word(tool, path).permit in seen:
            yield path, size


def _visible_permits(desk: ToolContext, tool: str, inside: str) -> tuple[Permit, ...]:
    """What files are shown: also those to be asked about, where a person allowed the whole call."""
    settings = desk.settings
    said = evaluate_permission(tool, inside, settings.permission, settings.permission_floor)
    return (Permit.ALLOW, Permit.ASK) if said is Permit.ASK else (Permit.ALLOW,)


def _walk_files(desk: ToolContext, inside: str) -> Iterator[tuple[str, int]]:
    """Every plain file below `inside`, by descriptors alone: a link is never entered."""
    for folder, folders, files, descriptor in os.fwalk(desk.project, follow_symlinks=False):
        here = os.path.relpath(folder, desk.project)
        base = "" if here == "." else f"{here}/"
        folders[:] = sorted(one for one in folders if _leads(f"{base}{one}", inside))
        if inside and not base.startswith(f"{inside}/"):
            continue
        for name in sorted(files):
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # a server of the model's took it away meanwhile
                continue
            if found.st_mode & 0o170000 == 0o100000:  # noqa: PLR2004 - a plain file
                yield f"{base}{name}", found.st_size


def _leads(folder: str, inside: str) -> bool:
    """Whether a folder is one to go into: on the way to `inside`, or below it."""
    name = folder.rpartition("/")[2]
    if name in _LEFT_OUT or is_private(name):
        return False
    return not inside or f"{inside}/".startswith(f"{folder}/") or folder.startswith(f"{inside}/")
