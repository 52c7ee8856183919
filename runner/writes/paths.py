"""Check which paths a task may write: safe names, control files, the task's scope.

Sources: git's `verify_path`, `is_hfs_dotgit` and `is_ntfs_dotgit` (read-cache.c, utf8.c, path.c);
Microsoft's "Naming Files, Paths, and Namespaces" for reserved names.
"""

from __future__ import annotations

import re
import stat
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, LiteralPath, Severity
from runner.secrets.allowlist import FILE_NAME as ALLOW_LIST
from runner.text.display import code_span
from runner.text.ignore_rules import ignore_rules

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Callable, Sequence

    from runner.writes import parsers
else:
    parsers = lazy_module("runner.writes.parsers")
    tomllib = lazy_module("tomllib")


LONGEST_PATH = 1024
"""Bytes of UTF-8 in a whole path; leaves room within Linux's 4,096 for the repository's own."""
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
        ".worktreeinclude",
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
# These control the runner itself. A plan in a subfolder is another project's, hence control.
_FORBIDDEN_NAMES = frozenset(
    ("task-graph.md", "runner.toml", "file_ownership_map.md", ALLOW_LIST),
)
_LINK = "a symbolic link"
_PLAIN = "use a plain relative path, such as src/app.py"
_RUNNER_FOLDER = ("artifacts", "build")


def check_path(path: str, mode: int, *, kind: str = "") -> Finding | None:
    """Refuse a path or mode no task may write; warn of one that does not travel well.

    `mode` is git's octal mode; with `kind="delete"` there is none to look at.
    """
    reason = _path_refusal(path) or ("" if kind == "delete" else _mode_refusal(mode))
    if reason:
        is_named = reason.endswith(_LINK)
        hint = "write a regular file instead of the link" if is_named else _PLAIN
        return _refuse(path, f"the path {path!a} {reason}", hint)
    for name in path.split("/"):
        if message := warning(name):
            return Finding("paths", message, path=path, severity=Severity.WARNING)
    return None


def is_control(path: str) -> bool:
    """Return whether a file configures git, editors, agents or interpreters."""
    parts = path.casefold().split("/")
    return (
        any(part.startswith(".git") or part in _CONTROL_FOLDERS for part in parts)
        or parts[-1] in _CONTROL_NAMES
        or parts[-1].endswith(".pth")
    )


def is_forbidden(path: str, plan: str = "TASK-GRAPH.md") -> bool:
    """Return whether a file belongs to the runner, so no task may write it."""
    folded = path.casefold()
    parts = tuple(folded.split("/"))
    return folded in _FORBIDDEN_NAMES or folded == plan.casefold() or parts[:2] == _RUNNER_FOLDER


def in_scope(path: str, outputs: tuple[str, ...]) -> bool:
    """Return whether outputs cover a path: exactly, as a folder, by glob, or `any`.

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
    """Refuse what is outside a task's scope, with the line of the plan that would allow it.

    `before` and `after` are looked at for `pyproject.toml` alone, whose `[tool.runner]` is
    a setting of the runner and not the task's to change.
    """
    if is_forbidden(path, plan):
        return _refuse(path, f"no task may write {path!a}", "leave this file unchanged")
    if not in_scope(path, outputs):
        message = f"{path!a} is not in the Output files of {task}"
        if is_control(path):
            message = f"{path!a} is a control file, which Output files of {task} must name exactly"
        return _refuse(path, message, scope_line((path,), outputs), check="scope")
    if path == "pyproject.toml" and _runner_table(before) != _runner_table(after):
        return _refuse(
            path,
            "[tool.runner] holds the runner's settings, which no task may change",
            "leave [tool.runner] unchanged",
            check="scope",
        )
    return None


def scope_line(paths: Sequence[str], outputs: Sequence[str]) -> str:
    """Return the line of the plan that allows these paths, too."""
    if "any" in outputs and not any(map(is_control, paths)):
        return "- Output files: any"
    listed = dict.fromkeys((*(one for one in outputs if one != "any"), *paths))
    return "- Output files: " + ", ".join(map(code_span, listed))


def find_wrong_outputs(
    outputs: Sequence[str], refused: Sequence[str], exists: Callable[[str], bool]
) -> frozenset[str]:
    """Return the outputs without a file where a refused file has nearly the same name.

    Nearly the same: but for folder, suffix, letter case, separators and the order of letters.
    """
    names = set(map(_letters, refused))
    exact = [one for one in outputs if not (_is_glob(one) or one.endswith("/") or one == "any")]
    return frozenset(one for one in exact if _letters(one) in names and not exists(one))


def _letters(path: str) -> str:
    stem = path.rsplit("/", 1)[-1].partition(".")[0]
    return "".join(sorted(filter(str.isalnum, stem.casefold())))


def _path_refusal(path: str) -> str:
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    reason = next(filter(None, map(refusal, parts)), "")
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
        return f"is {_LINK}"
    if kind == 0o160000:  # noqa: PLR2004 - git's own mode for a submodule
        return "is a submodule"
    if mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX):
        return "has a setuid, setgid or sticky bit"
    return f"has the mode {mode:o}; only 100644 and 100755 are allowed"


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


def _runner_table(content: bytes | None) -> object:
    """Return `[tool.runner]` of a pyproject.toml; the bytes if it cannot be parsed."""
    if content is None:
        return None
    if parsers.is_costly("toml", content):
        return content
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return content
    tool = tables.get("tool")
    return tool.get("runner") if isinstance(tool, dict) else None


LONGEST_NAME = 255
"""Bytes of UTF-8 in one component: the limit of ext4, APFS and NTFS."""

# Short (8.3) names in NTFS for `.git`, `.gitmodules`, `.gitattributes`, `.gitignore`; the hashed
# form is `gi` and four hex digits.
_SHORT_NAME = regex(r"\.?git[a-z0-9]{0,3}~[0-9]+|gi[0-9a-f]{4}~[0-9]+", re.IGNORECASE)
# NTFS treats text after the first colon as an alternate stream: `.git::$INDEX_ALLOCATION`.
_STREAM = regex(r":.*\$|::")
_DRIVE = regex(r"[A-Za-z]:.*")
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$")) | {
    name + digit for name in ("com", "lpt") for digit in "123456789¹²³"
}
# Control, format (zero-width, bidi), surrogate, private, line and paragraph separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def refusal(name: str) -> str:
    """Return why this path component is rejected, as the end of a sentence; else empty."""
    return _shape_refusal(name) or _refuse_hidden(name) or _git_refusal(name)


def warning(name: str) -> str:
    """Return why this path component is not portable; empty if it is."""
    if name.split(".", maxsplit=1)[0].rstrip(" ").casefold() in _DEVICES:
        return f"{name!a} is a reserved name on Windows"
    if _NOT_ON_WINDOWS & set(name):
        return f"{name!a} contains a character that Windows does not allow"
    if name != unicodedata.normalize("NFC", name):
        return f"{name!a} is not in Unicode normal form C, so other systems spell it differently"
    return ""


def _shape_refusal(name: str) -> str:
    reasons = (
        (not name, "has an empty component"),
        (name in {".", ".."}, f"has the component {name!r}"),
        ("\\" in name, "contains a backslash"),
        (name != name.strip(), "has a component that begins or ends with a space"),
        (name.endswith("."), "has a component that ends with a dot"),
        (bool(_DRIVE.fullmatch(name)), "begins with a drive letter"),
        (bool(_STREAM.search(name)), "names an alternate data stream"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _refuse_hidden(name: str) -> str:
    if name.isascii() and name.isprintable():
        return "" if len(name) <= LONGEST_NAME else _too_long()
    for character in name:
        if unicodedata.category(character) in _UNSEEN:
            return f"contains the invisible character U+{ord(character):04X}"
        if character.isspace() and character != " ":
            return f"contains the space U+{ord(character):04X}"
    return "" if len(name.encode("utf-8")) <= LONGEST_NAME else _too_long()


def _too_long() -> str:
    return f"has a component longer than {LONGEST_NAME} bytes"


def _git_refusal(name: str) -> str:
    # Compatibility forms and case are folded, and endings ignored by NTFS are cut: with each of
    # them some file system opens `.git` by another name.
    folded = unicodedata.normalize("NFKC", name).casefold().split(":")[0].rstrip(" .")
    if folded == ".git" or _SHORT_NAME.fullmatch(folded):
        return "names git's internal folder"
    return ""
