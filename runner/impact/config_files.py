"""Files that configure how everything beside and below them is built and tested."""

from __future__ import annotations

import re

from runner.languages.registry import is_manifest

_NAMES = frozenset(
    {"conftest.py", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini"}
    | {"noxfile.py", ".coveragerc", "sitecustomize.py", "usercustomize.py", "Pipfile"}
    | {"Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "requirements.lock", "pylock.toml"}
    | {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "bun.lock"}
    | {"bun.lockb", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".babelrc", ".swcrc"}
    | {"go.sum", "go.work", "go.work.sum", "Cargo.lock", "build.rs"}
    | {"rust-toolchain", "rust-toolchain.toml", "Makefile", "GNUmakefile", "makefile", "justfile"}
    | {"runner.toml", ".python-version", ".node-version", ".nvmrc", ".tool-versions"}
)
_PATTERN = re.compile(
    r"(?:requirements|constraints)[\w.-]*\.(?:txt|in)\Z|[\w.-]+\.pth\Z"
    r"|(?:tsconfig|jsconfig)[\w.-]*\.json\Z"
    r"|(?:jest|vitest|vite|babel|webpack|rollup|ava|karma|playwright|cypress|next|svelte|nuxt)"
    r"[\w.-]*\.config\.\w+\Z|\.mocharc\.\w+\Z|\.env(?:\.\w+)?\Z"
)
_OWN = re.compile(
    r"(?:artifacts/build/.*|TASK-GRAPH\.md|FILE_OWNERSHIP_MAP\.md|PATTERN_INDEX\.md)\Z"
)


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
