"""The registry of extensions: the five built-in ones, and those that a person's settings name.

Nothing here imports an extension of ours: their rows name modules. Another distribution's
extension is an entry point of the group `runner.extensions`. It runs code in this process, so it
is loaded only if the person's own settings file names it (`build.extensions = ["acme_runner"]`),
and never from the folder of the project. Entry points are not read before somebody asks for it.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.extensions.interface import Extension, FlagGroup, load
from runner.lazy_module import lazy_module
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib import metadata
else:
    metadata = lazy_module("importlib.metadata")

GROUP = "runner.extensions"

_TEAM, _BRIDGE, _CLUSTER = f"{GROUP}.team", f"{GROUP}.bridge", f"{GROUP}.cluster"
_TELEMETRY, _LLM = f"{GROUP}.telemetry", f"{GROUP}.llm"

OURS = (
    Extension(
        "team",
        "shared queue with workers, people and a web page",
        extras={"team": ("sqlalchemy", "alembic")},
        operations=f"{_TEAM}.operations:ROWS",
        flags=(
            FlagGroup("serve", f"{_TEAM}.operations:SERVE_FLAGS", f"{_TEAM}.serve_flags:execute"),
            FlagGroup("stats", f"{_TEAM}.operations:STATS_FLAGS", f"{_TEAM}.store_commands:count"),
        ),
    ),
    Extension(
        "bridge",
        "turns forge issues into plans and pull requests",
        operations=f"{_BRIDGE}.operations:ROWS",
    ),
    Extension(
        "cluster",
        "runs tasks on the workers of a Dask cluster",
        extras={"dask": ("distributed", "cryptography")},
        executors={"dask": f"{_CLUSTER}.executor"},
    ),
    Extension(
        "telemetry",
        "sends events, traces and metrics to other programs",
        extras={
            "events": ("nats",),
            "telemetry": ("opentelemetry", "prometheus_client"),
        },
        operations=f"{_TELEMETRY}.operations:ROWS",
        flags=(
            FlagGroup(
                "log",
                f"{_TELEMETRY}.operations:LOG_FLAGS",
                f"{_TELEMETRY}.events_command:print_events_of_folder",
            ),
        ),
        pages={"/metrics": f"{_TELEMETRY}.metrics:open_page"},
    ),
    Extension(
        "llm",
        "lets a language model implement tasks with the runner's tools",
        extras={"llm": ("pydantic_ai",)},
        implementers={"model": f"{_LLM}.model:ModelLoop"},
    ),
)

_named: tuple[str, ...] = ()


def read_names(content: bytes) -> tuple[str, ...]:
    """Return the extensions that a settings file names; those of a damaged file are none."""
    if b"extensions" not in content:
        return ()
    try:
        table = parse_toml(content.decode("utf-8-sig"))
    except ValueError:
        return ()
    build = table.get("build")
    names = {**table, **(build if isinstance(build, dict) else {})}.get("extensions", ())
    names = names if isinstance(names, list) else [names]
    return tuple(one for one in names if isinstance(one, str) and one.strip())


def name_others(names: Sequence[str]) -> None:
    """Register the extensions named in the person's settings, without loading them."""
    global _named  # noqa: PLW0603 - as the settings of this process are
    _named = tuple(names)


def every() -> tuple[Extension, ...]:
    """Return all extensions, others' too. Raises RunnerError for one that cannot be loaded."""
    return (*OURS, *others())


def others() -> tuple[Extension, ...]:
    """Return the extensions of other distributions that the person named. Raises RunnerError."""
    return _load_others(_named) if _named else ()


def find_reference(field: str, name: str) -> str:
    """Return what an extension has under a name in `executors`, `implementers` or `pages`.

    Ours come first. Empty where none has it. Raises RunnerError for one that cannot be loaded.
    """
    for source in (OURS, others):
        for one in source if isinstance(source, tuple) else source():
            if name in getattr(one, field):
                return str(getattr(one, field)[name])
    return ""


def find_missing(extension: Extension) -> tuple[str, ...]:
    """Return the extras of ours that would install what an extension misses here."""
    return tuple(
        extra
        for extra, modules in extension.extras.items()
        if any(find_spec(module) is None for module in modules)
    )


@cache
def _load_others(names: tuple[str, ...]) -> tuple[Extension, ...]:
    return tuple(_load_one(name) for name in names)


def _load_one(name: str) -> Extension:
    found = next(_find_entry_points(name), None)
    if found is None:
        raise RunnerError(
            f"extension {name!a} is not installed in the runner's environment",
            where="build.extensions",
            hint=f"install it ({sys.executable} -m pip install …), or remove it from the setting",
        )
    _require_outside_project(name, found.module)
    try:
        extension = load(found.value)
    except (ImportError, AttributeError) as error:
        raise RunnerError(
            f"extension {name!a} cannot be loaded: {error}",
            where=found.value,
            hint="fix or update it, or remove it from build.extensions in your own settings",
        ) from error
    if not isinstance(extension, Extension):
        raise RunnerError(f"extension {name!a} is not an Extension object", where=found.value)
    return extension


def _find_entry_points(name: str) -> Iterator[metadata.EntryPoint]:
    """Yield entry points of this name, or of a distribution of this name."""
    wanted = _normalize(name)
    for one in metadata.entry_points(group=GROUP):
        if wanted in (_normalize(one.name), _normalize(one.dist.name if one.dist else "")):
            yield one


def _normalize(name: str) -> str:
    return name.strip().casefold().replace("-", "_").replace(".", "_")


def _require_outside_project(name: str, module: str) -> None:
    """Raise RunnerError for a module below the current folder, unless this Python is there, too.

    `python -m runner` has the folder that it stands in on `sys.path`: a clone's own file would run.
    """
    spec = find_spec(module.partition(".")[0])
    here = Path.cwd().resolve()
    places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
    inside = any(Path(place).resolve().is_relative_to(here) for place in places if place)
    if inside and not Path(sys.prefix).resolve().is_relative_to(here):
        raise RunnerError(
            f"extension {name!a} is a file of this project, so it is not loaded",
            where=str(places[0]),
            hint="start the runner as `runner` or `python -P -m runner`",
        )
