"""Which paths a task may write: safe names, control files, and the task's own scope."""

from __future__ import annotations

import re
import stat
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.model import Finding, LiteralPath, Severity
from runner.secrets.allowlist import FILE_NAME as ALLOW_LIST
from runner.text.ignore_rules import ignore_rules
from runner.writes import path_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONGEST_PATH = 1024
"""Bytes of UTF-8 in a whole path; leaves room below Linux's 4,096 for the repository's own."""
DEEPEST_PATH = 64
MODES = frozenset((0o100644, 0o100755))

_CONTROL_FOLDERS = frozenset((".vscode", ".claude", ".cursor", ".idea", ".devcontainer"))
_CONTROL_NAMES = frozenset(
    (
        "agents.md",
        "claude.md",
        "gemini.md",
        ".cursorrules",
        ".mcp.json",
        ".envrc",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pypirc",
        ".netrc",
        "sitecustomize.py",
        "usercustomize.py",
        "runner.toml",
        "task-graph.md",
        "pattern_index.md",
        ALLOW_LIST,
    ),
)
# These steer the runner itself. A second plan further down is another project's, hence control.
_FORBIDDEN_NAMES = frozenset(
    ("task-graph.md", "runner.toml", "file_ownership_map.md", ALLOW_LIST),
)
_RUNNER_FOLDER = ("artifacts", "build")


def check_path(path: str, mode: int, *, kind: str = "") -> Finding | None:
    """Refuse a path or mode no task may write; warn of one that does not travel well.

    `mode` is git's octal mode; with `kind="delete"` there is none to look at.
    """
    reason = _path_refusal(path) or ("" if kind == "delete" else _mode_refusal(mode))
    if reason:
        return _refuse(path, f"the path {path!a} {reason}", "choose a plain relative path")
    for name in path.split("/"):
        if said := path_components.warning(name):
            return Finding("paths", said, path=path, severity=Severity.WARNING)
    return None


def is_control(path: str) -> bool:
    """Whether a file steers git, editors, agents or interpreters: named exactly, and reviewed."""
    parts = path.casefold().split("/")
    return (
        any(part.startswith(".git") or part in _CONTROL_FOLDERS for part in parts)
        or parts[-1] in _CONTROL_NAMES
        or parts[-1].endswith(".pth")
    )


def is_forbidden(path: str, plan: str = "TASK-GRAPH.md") -> bool:
    """Whether a file is the runner's own word, which no task may ever write."""
    folded = path.casefold()
    parts = tuple(folded.split("/"))
    return folded in _FORBIDDEN_NAMES or folded == plan.casefold() or parts[:2] == _RUNNER_FOLDER


def in_scope(path: str, outputs: tuple[str, ...]) -> bool:
    """Whether Output files cover a path: literally, as a folder (`src/`), by glob, or `any`.

    Globs are gitignore-style (gitignore(5)); a control file must be named literally.
    """
    literal = tuple(output.removeprefix("./") for output in outputs)
    if path in literal:
        return True
    if is_control(path):
        return False
    return (
        outputs == ("any",)
        or any(output.endswith("/") and path.startswith(output) for output in literal)
        or _matches_glob(path, tuple(output for output in literal if _is_glob(output)))
    )


def scope_finding(
    path: str,
    outputs: tuple[str, ...],
    task: str,
    *,
    plan: str = "TASK-GRAPH.md",
    before: bytes | None = None,
    after: bytes | None = None,
) -> Finding | None:
    """Refuse what is outside a task's scope, with the one line of the plan that would allow it.

    `before` and `after` are looked at for `pyproject.toml` alone, whose `[tool.runner]` is
    a setting of the runner and not the task's to change.
    """
    if is_forbidden(path, plan):
        return _refuse(path, f"no task may write {path!a}", "leave this file as it was")
    if not in_scope(path, outputs):
        told = f"{path!a} is not in the Output files of {task}"
        if is_control(path):
            told = f"{path!a} is a control file, which Output files of {task} must name exactly"
            if outputs == ("any",):
                hint = f"{scope_line(path, outputs)}, and the task's other files, too: not `any`"
                return _refuse(path, told, hint, check="scope")
        return _refuse(path, told, scope_line(path, outputs), check="scope")
    if path == "pyproject.toml" and _runner_table(before) != _runner_table(after):
        return _refuse(
            path,
            "[tool.runner] holds the runner's settings, which no task may change",
            "leave [tool.runner] as it was",
            check="scope",
        )
    return None


def scope_line(path: str, outputs: tuple[str, ...]) -> str:
    """The line of the plan that would allow one more path."""
    kept = () if outputs == ("any",) else outputs
    listed = ("any",) if outputs == ("any",) and not is_control(path) else (*kept, path)
    return "- Output files: " + ", ".join(_code_span(output) for output in listed)


# --- details --------------------------------------------------------------------------


def _path_refusal(path: str) -> str:
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    reason = next(filter(None, map(path_components.refusal, parts)), "")
    if reason:
        return reason
    if len(path.encode("utf-8")) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    return f"is deeper than {DEEPEST_PATH} folders" if len(parts) > DEEPEST_PATH else ""


def _mode_refusal(mode: int) -> str:
    if mode in MODES:
        return ""
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        return "is a symbolic link"
    if kind == 0o160000:  # noqa: PLR2004 - git's own mode for a submodule
        return "is a submodule"
    if mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX):
        return "has a setuid, setgid or sticky bit"
    return f"has the mode {mode:o}, where 100644 or 100755 is allowed"


def _refuse(path: str, message: str, hint: str, *, check: str = "paths") -> Finding:
    return Finding(check, message, path=path, hint=hint)


def _is_glob(output: str) -> bool:
    if isinstance(output, LiteralPath):
        return False
    return output.startswith("!") or any(character in output for character in "*?[")


def _matches_glob(path: str, globs: tuple[str, ...]) -> bool:
    return bool(globs) and _rules(globs)(path)


@lru_cache(maxsize=256)
def _rules(globs: tuple[str, ...]) -> Callable[[str], bool]:
    return ignore_rules(globs)


def _code_span(text: str) -> str:
    """A CommonMark code span (section 6.1), also around backticks."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _runner_table(content: bytes | None) -> object:
    """`[tool.runner]` of a pyproject.toml; a file that cannot be read equals none but itself."""
    import tomllib

    from runner.writes.parse_limits import is_costly

    if content is None:
        return None
    if is_costly("toml", content):
        return content
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return content
    tool = tables.get("tool")
    return tool.get("runner") if isinstance(tool, dict) else None


def control_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths a person reviews even where review is otherwise off."""
    return tuple(path for path in paths if is_control(path))
