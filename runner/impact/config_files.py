"""Files that configure how everything beside and below them is built and tested.

Changed files of which nobody here can say whom they reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.registry import is_manifest
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from runner.impact.change import Changed


_NAMES = frozenset(
    {"conftest.py", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini"}
    | {".pytest.ini", "pytest.toml", ".pytest.toml"}
    | {"noxfile.py", ".coveragerc", "sitecustomize.py", "usercustomize.py", "Pipfile"}
    | {"Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "requirements.lock", "pylock.toml"}
    | {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "bun.lock"}
    | {"bun.lockb", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".babelrc", ".swcrc"}
    | {"go.sum", "go.work", "go.work.sum", "Cargo.lock", "build.rs"}
    | {"rust-toolchain", "rust-toolchain.toml", "Makefile", "GNUmakefile", "makefile", "justfile"}
    | {"runner.toml", ".python-version", ".node-version", ".nvmrc", ".tool-versions"}
)
_PATTERN = regex(
    r"(?:requirements|constraints)[\w.-]*\.(?:txt|in)\Z|[\w.-]+\.pth\Z"
    r"|(?:tsconfig|jsconfig)[\w.-]*\.json\Z"
    r"|(?:jest|vitest|vite|babel|webpack|rollup|ava|karma|playwright|cypress|next|svelte|nuxt)"
    r"[\w.-]*\.config\.\w+\Z|\.mocharc\.\w+\Z|\.env(?:\.\w+)?\Z"
)
_OWN = regex(r"(?:artifacts/build/.*|TASK-GRAPH\.md|FILE_OWNERSHIP_MAP\.md|PATTERN_INDEX\.md)\Z")


def governs(path: str) -> bool:
    """Whether a change of this file may change the result of every test beside and below it."""
    name = path.rpartition("/")[2]
    return name in _NAMES or is_manifest(name) or bool(_PATTERN.match(name))


def is_own_document(path: str) -> bool:
    """Whether a file is the runner's own record or plan: no test's result hangs on it."""
    return bool(_OWN.match(path))


def folder_governed(path: str) -> str:
    """The folder that a governing file holds for; empty for the whole repository.

    A cargo configuration or a workflow in a dotted folder holds for what is around that folder.
    """
    folder = path.rpartition("/")[0]
    while folder.rpartition("/")[2].startswith("."):
        folder = folder.rpartition("/")[0]
    return folder


# --- unknown --------------------------------------------------------------------------


_UNREAD_CODE = regex(
    r"\.(?:c|cc|cpp|cxx|h|hh|hpp|cs|java|kt|kts|scala|swift|m|mm|rb|php|pl|pm|lua|r|jl|ex|exs|erl"
    r"|hs|ml|clj|dart|zig|nim|sh|bash|zsh|fish|ps1|bat|cmake|proto|pyx|pxd|ipynb)\Z"
)


def is_unread_code(path: str) -> bool:
    """Whether a file is code in a language of which the imports are not read here."""
    return bool(_UNREAD_CODE.search(path))


def explain_undeclared(change: Changed) -> str:
    """Why it is in doubt whom a change reaches."""
    if is_unread_code(change.path):
        return f"nobody can see here what {change.path} is used by, and no task has it in Inputs"
    if change.is_deleted:
        return f"{change.path} is gone, and nothing that names it is known"
    return f"no task declares {change.path}, and no code names it"
