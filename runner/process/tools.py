"""Find programs on PATH, run trusted tools and the person's editor.

A sandbox that hides HOME and /tmp shows the folders of these tools.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.process.base import Command, Place


# Exit codes of a shell for a missing program (POSIX.1-2017, XCU 2.8.2), and of timeout(1) for a
# timeout.
NOT_FOUND = 127
TIMED_OUT = 124


def find_project_python(place: Place, environ: Mapping[str, str]) -> Path | None:
    """Return the Python of an environment in the repository, else the first one on PATH."""
    for share in place.shares:
        python = place.shown / share / "bin" / "python"
        if python.exists():
            return python
    return which("python3", environ) or which("python", environ)


def which(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the executable of this name on PATH, ignoring relative entries, or None."""
    if os.sep in name:
        return Path(name) if _executable(name) else None
    # An empty entry is the current folder (POSIX.1-2017, XBD 8.3, PATH): in a clone that would be
    # the clone's own `git`.
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder}/{name}"
        if folder.startswith("/") and _executable(path):
            return Path(path)
    return None


def find_installation(program: Path) -> Path:
    """Return the folder with all that a program needs: its packages or environment."""
    places = (
        folder
        for folder in reversed(program.parents)
        if folder.name == "node_modules" or (folder / "pyvenv.cfg").is_file()
    )
    return next(places, program.parent)


def is_on_path(name: str, environ: Mapping[str, str]) -> bool:
    """Return whether an executable is on PATH; cached until a folder of PATH changes."""
    path = environ.get("PATH", os.defpath)
    return _is_on_path(name, path, tuple(map(_changed, path.split(os.pathsep))))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns if folder else 0  # noqa: PTH116 - a hot path
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _is_on_path(name: str, path: str, _changed: tuple[int, ...]) -> bool:
    return which(name, {"PATH": path}) is not None


def explain_missing(command: Command) -> str:
    """Return why an argv cannot start; empty for a shell line, which reports it with 127."""
    if isinstance(command.line, str):
        return ""
    if not command.line:
        return "the command is empty"
    name = command.line[0]
    if os.sep not in name:
        found = which(name, command.environment)
        return "" if found else f"{name}: not found on PATH"
    place = command.place
    shown = place.tree / os.path.relpath(name, place.shown)
    here = place.tree / place.start / command.folder / name
    found_here = any(which(str(path), {}) for path in (here, shown))
    return "" if found_here else f"{name}: file not found or not executable"


def _executable(path: str) -> bool:
    # A folder has the same bit, for searching (path_resolution(7)).
    return os.access(path, os.X_OK) and not os.path.isdir(path)  # noqa: PTH112 - a hot path


def capture(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
) -> tuple[int, bytes]:
    """Run a small trusted command, and return exit code and output of both streams.

    Nothing from content may be among its options. 127 when it cannot start, 124 when it took
    longer than `timeout` seconds.
    """
    import subprocess  # six modules, which `which` alone does without

    effects.step("spawn", argv[0])
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired as late:
        return TIMED_OUT, late.output or b""
    except OSError as problem:
        return NOT_FOUND, str(problem).encode()
    return done.returncode, done.stdout


def run_interactive(argv: Sequence[str], cwd: Path) -> int:
    """Run a program on the person's own terminal, such as `$EDITOR`; its exit code.

    It is the person's program with the person's rights: no sandbox, no limits.
    """
    import subprocess

    effects.step("spawn", argv[0])
    try:
        return subprocess.run(argv, cwd=cwd, check=False).returncode
    except OSError:
        return NOT_FOUND


# --- toolchain ------------------------------------------------------------------------


_HOMES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # variable, its default below HOME, its visible parts: never those with credentials
    ("PYENV_ROOT", ".pyenv", ("",)),
    ("NVM_DIR", ".nvm", ("",)),
    ("VOLTA_HOME", ".volta", ("",)),
    ("RBENV_ROOT", ".rbenv", ("",)),
    ("ASDF_DATA_DIR", ".asdf", ("",)),
    ("SDKMAN_DIR", ".sdkman", ("",)),
    ("RUSTUP_HOME", ".rustup", ("",)),
    ("CARGO_HOME", ".cargo", ("bin", "registry", "git", "env", "advisory-db")),
    ("GOPATH", "go", ("bin", "pkg")),
    ("npm_config_cache", ".npm", ("_cacache",)),
    ("BUN_INSTALL", ".bun", ("bin",)),
    ("DENO_INSTALL", ".deno", ("bin",)),
    ("PNPM_HOME", ".local/share/pnpm", ("",)),
    ("PRE_COMMIT_HOME", ".cache/pre-commit", ("",)),
    ("GOROOT", "", ("",)),
    ("JAVA_HOME", "", ("",)),
    ("DOTNET_ROOT", "", ("",)),
    ("CONDA_PREFIX", "", ("",)),
    ("VIRTUAL_ENV", "", ("",)),
    ("", ".local/lib", ("",)),
    ("", ".local/pipx", ("",)),
    ("", ".local/share/pipx", ("",)),
    ("", ".local/share/uv", ("python", "tools")),
    ("", ".local/share/mise", ("installs", "shims")),
    ("", ".m2", ("repository",)),
)
_MARKS_OF_A_ROOT = ("pyvenv.cfg", "conda-meta", "lib", "libexec")
"""A folder with `bin` and one of these is an environment, which is needed whole."""
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT"),
)


_SEARCHED = ("LD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH")

NAMES = frozenset(
    {"HOME", "PATH", *_SEARCHED, *_CERTIFICATES, *(variable for variable, *_ in _HOMES if variable)}
)
"""Variables that name the folders of tools."""


def tool_paths(environ: Mapping[str, str]) -> list[Path]:
    """Return the existing absolute paths that commands of this environment need to read."""
    home = Path(environ.get("HOME", "/nonexistent"))
    candidates = [
        Path(__file__).parent.parent,
        *_search_path(f"{sys.prefix}/bin:{environ.get('PATH', '')}", home),
        *_tool_homes(environ, home),
        *(Path(environ[name]) for name in _CERTIFICATES if environ.get(name)),
    ]
    return [path for path in dict.fromkeys(candidates) if path.is_absolute() and path.exists()]


def homes(environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for tools below the real HOME, for commands with another HOME."""
    home = Path(environ.get("HOME", "/nonexistent"))
    found = {
        variable: str(home / default)
        for variable, default, _ in _HOMES
        if variable and default and (home / default).is_dir()
    }
    return {**found, "PYTHONUSERBASE": str(home / ".local")}


def fetch_environment(folder: str) -> dict[str, str]:
    """Return variables for tools whose cache is below HOME, which is shown read-only."""
    homes = {"npm_config_cache": ".npm", "CARGO_HOME": ".cargo", "GOMODCACHE": ".gomod"}
    return {variable: f"{folder}/{name}" for variable, name in homes.items()}


def _search_path(path: str, home: Path) -> Iterable[Path]:
    for folder in map(Path, filter(None, path.split(os.pathsep))):
        yield from _installation(folder, home)
        # The Python that an environment was made from has its standard library (PEP 405).
        base = Path(os.path.realpath(folder / "python")).parent
        if (folder.parent / "pyvenv.cfg").is_file() and any((base.parent / "lib").glob("python3*")):
            yield from _installation(base, home)


def _installation(folder: Path, home: Path) -> Iterable[Path]:
    """Yield a folder of programs, and what it is a part of if that belongs to them alone."""
    yield folder
    root = folder.parent
    personal = root in {home, home / ".local", Path("/")}
    if not personal and any((root / mark).exists() for mark in _MARKS_OF_A_ROOT):
        yield root


def _tool_homes(environ: Mapping[str, str], home: Path) -> Iterable[Path]:
    for variable, default, parts in _HOMES:
        setting = environ.get(variable, "") if variable else ""
        if setting or default:
            root = Path(setting) if setting else home / default
            yield from (root / part for part in parts)
