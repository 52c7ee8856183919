"""Which variables a command sees: an allow-list, so that no credential comes along by chance."""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PERSON = "HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM"
_BUILD = (
    "CI NO_COLOR SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING "
    "PYTHONUNBUFFERED PYTHONUTF8"
)
_TOOLS = (
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PYENV_VERSION NVM_DIR NVM_BIN VOLTA_HOME PNPM_HOME "
    "BUN_INSTALL DENO_INSTALL CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT JAVA_HOME "
    "DOTNET_ROOT SDKMAN_DIR RBENV_ROOT ASDF_DATA_DIR GEM_HOME npm_config_cache"
)
_CERTIFICATES = (
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "GIT_SSL_CAINFO PIP_CERT"
)
ALLOWED = tuple(f"{_PERSON} {_BUILD} {_TOOLS} {_CERTIFICATES}".split())
"""Names and globs that are passed on. PATH is treated on its own."""

_NEVER_BY_GLOB = ("LD_*", "DYLD_*", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "BASH_ENV", "ENV")
"""Variables that load code: only a person who names one exactly passes it on."""


def command_environment(
    environ: Mapping[str, str],
    *,
    pass_env: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The whole environment of a command.

    `pass_env` are further names and globs from the person's settings; `extra` are the
    variables of the task, which win.
    """
    wanted = tuple(pass_env)
    kept = {name: value for name, value in environ.items() if _passes(name, wanted)}
    return {**kept, "PATH": search_path(environ.get("PATH", "")), **(extra or {})}


def search_path(path: str) -> str:
    """PATH without relative folders, the running interpreter's own folder at its end.

    A relative entry would run programs from the repository; the last entry lets `python` and
    `pytest` be found where the runner's own environment was not activated.
    """
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117 - text
    folders = folders or os.defpath.split(os.pathsep)
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(dict.fromkeys([*folders, own]))


def _passes(name: str, wanted: tuple[str, ...]) -> bool:
    if name in wanted:
        return True
    if any(fnmatchcase(name, pattern) for pattern in _NEVER_BY_GLOB):
        return False
    return any(fnmatchcase(name, pattern) for pattern in (*ALLOWED, *wanted))
