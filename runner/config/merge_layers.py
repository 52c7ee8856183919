"""Layers of settings put into one: validated, later over earlier, a repository only tightening."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.config.layers import PREFIX, Layer, Origin, line_of
from runner.config.sizes import amount_of
from runner.config.values import GATE_KEYS, MergedSettings, flag_of, tightest
from runner.errors import RunnerError
from runner.extensions.registry import OURS
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import ReviewMode
from runner.text.display import caret, display
from runner.text.foreign_documents import parse_toml
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.config import schema, setting_types
else:
    setting_types = lazy_module("runner.config.setting_types")
    schema = lazy_module("runner.config.schema")

YOURS = frozenset(
    {"sandbox", "sandbox_read", "network", "review_command", "pass_env", "secrets", "secret"}
    | {"held_out_dir", "held_out_land"}
    | {"worktree_include", "worktree_include_remote"}
    | {
        "processes",
        "memory",
        "file_size",
        *("processors", "disk", "io"),
        "notify_command",
        "notify_on",
        "draft_pr",
        *("publish", "publish_at", "lease_seconds", "sign_seconds"),
        "store",
        "four_eyes",
        "worker_default_branch",
        "worker_beat",
        "worker_ttl",
        "worker_poll",
        "worker_cache",
        *("worker_credentials", "worker_folders"),
        "agent_command",
        "acp_command",
        "agent_env",
        "agent_files",
    }
    | {"mcp", "model_base_url", "model_key_env", "model_calls"}
    | {"telemetry_otlp", "telemetry_content"}
    | {"events", "events_days", "events_key_env", "webhook", "webhook_key_env"}
    | {"executor", "insecure_cluster", "dask_tls_ca", "dask_tls_cert", "dask_tls_key"}
)
"""What only the person's own file, environment and flags may set."""
FILE_ONLY = frozenset({"extensions", "extension"})
"""What runs code in this process: only the person's own settings file may set it."""
_WITH_FLAG = frozenset({"sandbox", "executor", "insecure_cluster", "draft_pr"})
"""Those of them that have a flag; a message names no flag that does not exist."""
BUDGETS = frozenset(
    f"{scope}{what}"
    for scope in ("", "attempt_", "run_")
    for what in ("tokens", "dollars", "minutes", "tool_calls")
)
"""What work may cost: of the person's bound and the repository's, the smaller holds."""
BOUNDS = {"proposal_file_size": "50MB", "proposal_size": "500MB", "proposal_files": 10_000}
"""What work may propose, with what holds where the person says nothing: the smaller holds, too."""
_FLOORS = {
    "read_allow": "read_allow_floor",
    "registries": "registries_only",
    "permission": "permission_floor",
    "plan_review": "plan_review_floor",
    "secret_formats": "secret_formats_floor",
}
"""Settings that of a repository stand beside the person's own, and only tighten them."""
_MOST_ASSURED = {"assurance": "independent", "test_visibility": "held-out"}
"""Settings in which a repository asks for no less than the person who wrote this value."""
_GROUPS = frozenset({"sast", "model", "skills", "artifacts", "telemetry"})
"""Tables whose keys are settings with the table's name before theirs."""
_KEYS = {
    "gates": GATE_KEYS,
    "permission": ("tool", "pattern", "action"),
    "secret_formats": ("name", "regex", "title", "env", "needles", "hint"),
}
"""The keys that an entry of a table may have, by the table."""
_UNKNOWN = "is unknown"


@dataclass(frozen=True, slots=True)
class _Opened:
    """A layer by the settings' names, with what is needed to point at a key."""

    layer: Layer
    text: str
    values: Mapping[str, object]
    written: Mapping[str, str]
    """Setting to the key as it is written."""

    def where(self, path: Sequence[str]) -> str:
        """The place of a key, as a person can open it."""
        if self.layer.origin is Origin.ENVIRONMENT:
            return f"environment {PREFIX}{path[0].upper()}"
        if self.layer.origin is Origin.FLAG:
            return flag_of(path[0])
        written = self.written.get(path[0], path[0]).split(".")
        keys = (*written, *".".join(path[1:]).split("."))
        line = line_of(self.text, (*self.layer.table, *(key for key in keys if key)))
        return f"{self.layer.path}:{line}" if line else self.layer.path


@dataclass(frozen=True, slots=True)
class _Problem:
    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.where}: {self.message}{hint}"


def merge_layers(layers: Sequence[Layer], known: Sequence[str]) -> MergedSettings:
    """What all layers say together.

    Raises RunnerError that tells every unknown key and every bad value of every layer.
    """
    opened = [_open(layer) for layer in layers]
    _one_file_of_the_repository(opened)
    notes = [note for one in opened for note in (*_find_ignored(one), *_find_retired(one))]
    opened = [_without_yours(one) for one in opened]
    checked = [(one, *_validate(one, known)) for one in opened]
    problems = [
        problem
        for one, _, found in checked
        for problem in sorted([*_find_unknown(one, known), *found], key=_line)
    ]
    if problems:
        raise _all_of(problems)
    merged = _overlay_layers([(one, values) for one, values, _ in checked], notes)
    _require_executor(merged)
    return merged


def _line(problem: _Problem) -> int:
    line = re.search(r":(\d+)$", problem.where)
    return int(line[1]) if line else 0


# --- opening --------------------------------------------------------------------------


def _open(layer: Layer) -> _Opened:
    if layer.origin in (Origin.ENVIRONMENT, Origin.FLAG):
        return _Opened(layer, "", layer.given, {})
    text = _decode(layer)
    table: object = _parse_layer(layer, text)
    for name in layer.table:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    raw = table if isinstance(table, dict) else {}
    return _Opened(
        layer,
        text,
        {name: value for name, (_, value) in _name_settings(raw).items()},
        {name: key for name, (key, _) in _name_settings(raw).items()},
    )


def _name_settings(raw: Mapping[str, object]) -> dict[str, tuple[str, object]]:
    """Each setting with its key as written and its value; `[sast] block_at` is `sast_block_at`."""
    found: dict[str, tuple[str, object]] = {}
    for key, value in raw.items():
        name = key.replace("-", "_")
        if name in _GROUPS and isinstance(value, dict):
            found |= {
                f"{name}_{inner}": (f"{key}.{inner}", entry) for inner, entry in value.items()
            }
        else:
            found[name] = (key, value)
    return found


def _decode(layer: Layer) -> str:
    try:
        return layer.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = layer.content[: error.start].count(b"\n") + 1
        raise RunnerError(
            "the settings are not UTF-8",
            where=f"{layer.path}:{line}",
            hint="save the file as UTF-8",
        ) from error


def _parse_layer(layer: Layer, text: str) -> dict[str, object]:
    try:
        return parse_toml(text)
    except ValueError as error:
        raise _bad_toml(layer, text, str(error)) from error


def _bad_toml(layer: Layer, text: str, error: str) -> RunnerError:
    place = re.search(r" \(at line (\d+), column (\d+)\)$", error)
    lines = text.splitlines()
    line, column = (int(place[1]), int(place[2])) if place else (len(lines), 1)
    shown = caret(lines[line - 1], column) if 0 < line <= len(lines) else ""
    message = error[: place.start()] if place else error.removesuffix(" (at end of document)")
    return RunnerError(
        f"not TOML: {display(message[:1].lower() + message[1:])}",
        where=f"{layer.path}:{line}:{column}",
        detail=shown,
        hint='write values as in `jobs = 4` or `implementer = "command"`',
    )


def _one_file_of_the_repository(opened: Iterable[_Opened]) -> None:
    own = [one for one in opened if one.layer.origin is Origin.REPOSITORY and one.values]
    if len(own) > 1:
        raise RunnerError(
            "the repository has its settings in two places: runner.toml and "
            "[tool.runner] in pyproject.toml",
            where=own[1].layer.path,
            hint="keep one of them",
        )


# --- what a repository may not --------------------------------------------------------


def _find_ignored(one: _Opened) -> list[str]:
    return [
        f"{one.where([name])}: {one.written.get(name, name)} is ignored: "
        f"only {_who_may(name)} may set it"
        for name in sorted(_find_reserved(one))
    ]


_NO_STRICT = (
    'mutation = "strict" is deprecated and means "warn": set assurance = "independent" instead'
)


def _find_retired(one: _Opened) -> list[str]:
    """What former versions knew, and is still accepted."""
    if str(one.values.get("mutation", "")).strip().lower() != "strict":
        return []
    return [f"{one.where(['mutation'])}: {_NO_STRICT}"]


def _find_reserved(one: _Opened) -> frozenset[str]:
    """What of a layer's values is the person's own to set.

    A store of artifacts only where it names a place outside: in the project a repository may.
    """
    values = one.values
    if one.layer.origin is not Origin.REPOSITORY:
        return frozenset() if one.layer.origin is Origin.USER else FILE_ONLY & set(values)
    store = str(values.get("artifacts_store", ""))
    outside = "://" in store or store.startswith(("/", "~")) or ".." in store.split("/")
    return ((YOURS | FILE_ONLY) & set(values)) | frozenset({"artifacts_store"} if outside else ())


def _who_may(name: str) -> str:
    own = "your own settings (~/.config/runner/runner.toml)"
    if name in FILE_ONLY:
        return own
    return (
        f"{own}, environment or {flag_of(name)}" if name in _WITH_FLAG else f"{own} or environment"
    )


def _without_yours(one: _Opened) -> _Opened:
    reserved = _find_reserved(one) | {"extension"}  # whose tables the extensions read themselves
    kept = {name: value for name, value in one.values.items() if name not in reserved}
    return _Opened(one.layer, one.text, kept, one.written)


# --- mistakes -------------------------------------------------------------------------


def _find_unknown(one: _Opened, known: Sequence[str]) -> list[_Problem]:
    return [
        _Problem(
            one.where([name]),
            f"unknown setting {display(one.written.get(name, name))[:80]}",
            did_you_mean(name, known) or "remove it; `runner settings` lists every setting",
        )
        for name in one.values
        if name not in known
    ]


def _validate(one: _Opened, known: Sequence[str]) -> tuple[dict[str, object], Sequence[_Problem]]:
    values = {name: value for name, value in one.values.items() if name in known}
    if not values:
        return {}, ()
    found, mistakes = schema.validate_layer(values)
    problems = [
        _Problem(
            one.where([part for part in path if "[" not in part]),  # with positions in lists
            f"{display('.'.join(_place_of(path)))} {message}{_not(value, message)}",
            did_you_mean(path[-1], _KEYS.get(path[0], ())) if message == _UNKNOWN else "",
        )
        for path, message, value in mistakes
    ]
    return found, problems or _paths_outside(one, found)


def _place_of(path: Sequence[str]) -> tuple[str, ...]:
    """The path of a key without what pydantic adds: positions in lists and kinds of types."""
    return tuple(part for part in path if not part.isdigit() and "[" not in part)


def _not(value: str, message: str) -> str:
    return f", not {display(value)}" if value and message != _UNKNOWN else ""


def _paths_outside(one: _Opened, values: Mapping[str, object]) -> Sequence[_Problem]:
    plan = str(values.get("task_graph", ""))
    if one.layer.origin is not Origin.REPOSITORY:
        return ()
    if plan.startswith("/") or ".." in plan.split("/"):
        message = "task_graph must be a path inside the repository"
        return [_Problem(one.where(["task_graph"]), message, 'such as "docs/TASK-GRAPH.md"')]
    return ()


def _require_executor(merged: MergedSettings) -> None:
    """Raise RunnerError for an executor that no extension can have: the person named none.

    Whether one that is named has it is asked where a run opens it: nothing is loaded here.
    """
    name = str(merged.values.get("executor", "threads"))
    word = name.partition(":")[0]
    ours = any(word in one.executors for one in OURS)
    if not (ours or word in ("inline", "threads") or merged.values.get("extensions")):
        message = f"executor {setting_types.EXECUTORS}, not {display(name)}"
        hint = 'for one of another package, set extensions = ["NAME"] in your own settings'
        raise RunnerError(message, where=merged.sources["executor"], hint=hint)


def _all_of(problems: Sequence[_Problem]) -> RunnerError:
    if len(problems) == 1:
        only = problems[0]
        return RunnerError(only.message, where=only.where, hint=only.hint)
    return RunnerError(
        f"{len(problems)} settings are invalid",
        detail="\n".join(str(problem) for problem in problems),
        hint="fix them; `runner settings` then shows each value and where it comes from",
    )


# --- laying over ----------------------------------------------------------------------


def _overlay_layers(
    layers: Sequence[tuple[_Opened, dict[str, object]]], notes: list[str]
) -> MergedSettings:
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for one, given in layers:
        found = given
        if one.layer.origin is Origin.REPOSITORY:
            affordable, dear = _within_budgets(given, values, one)
            assured, less = _without_less_assurance(affordable, values, one)
            found, loose = _tighten(assured, values, one)
            notes += [*dear, *less, *loose]
        elif "review" in found and one.layer.origin is not Origin.USER:
            values["review_insisted"] = True
        if "plan_review" in found and one.layer.origin in (Origin.ENVIRONMENT, Origin.FLAG):
            values["plan_review_insisted"] = True
        sources |= {name: one.where([_as_written(name)]) for name in found}
        for name, table in found.items():
            if name in ("gates", "resources", "compile") and isinstance(table, dict):
                sources |= {f"{name}.{key}": one.where([name, key]) for key in table}
                earlier = values.get(name)
                values[name] = {**(earlier if isinstance(earlier, dict) else {}), **table}
            else:
                values[name] = table
    return MergedSettings(values, sources, tuple(notes))


def _as_written(name: str) -> str:
    """The setting that a derived one was written as."""
    return name.removesuffix("_floor").removesuffix("_only")


def _within_budgets(
    found: dict[str, object], values: Mapping[str, object], one: _Opened
) -> tuple[dict[str, object], list[str]]:
    """The repository's values without those that would let work cost more than the person does."""
    allowed = {**BOUNDS, **values}
    bounded = (BUDGETS | BOUNDS.keys()) & set(found) & set(allowed)
    dearer = {name for name in bounded if _more(found, allowed, name)}
    notes = [
        f"{one.where([name])}: {name} = {found[name]} is ignored: "
        f"your own settings allow {allowed[name]}"
        for name in sorted(dearer)
    ]
    return {name: value for name, value in found.items() if name not in dearer}, notes


def _more(found: Mapping[str, object], values: Mapping[str, object], name: str) -> bool:
    asked, allowed = found[name], values[name]
    most, wanted = amount_of(str(allowed)), amount_of(str(asked))
    return most is None or wanted is None or wanted > most


def _without_less_assurance(
    found: dict[str, object], values: Mapping[str, object], one: _Opened
) -> tuple[dict[str, object], list[str]]:
    """The repository's values without those that ask for less assurance than the person does."""
    kept = {name for name, most in _MOST_ASSURED.items() if values.get(name) == most}
    notes = [
        f'{one.where([name])}: {name} is ignored: your own settings require "{values[name]}"'
        for name in sorted(kept & found.keys())
        if found[name] != values[name]
    ]
    return {name: value for name, value in found.items() if name not in kept}, notes


def _tighten(
    found: dict[str, object], values: Mapping[str, object], one: _Opened
) -> tuple[dict[str, object], list[str]]:
    """The repository's values with its review as a floor, and a note where it would loosen."""
    found = {_FLOORS.get(name, name): value for name, value in found.items()}
    if "review" not in found:
        return found, []
    asked = ReviewMode(str(found["review"]))
    chosen = values.get("review")
    standing = ReviewMode(str(chosen)) if chosen else None
    rest = {name: value for name, value in found.items() if name != "review"}
    if asked is ReviewMode.OFF or (standing and tightest(standing, asked) is not asked):
        note = (
            f'{one.where(["review"])}: review = "{asked}" is ignored: a repository may only '
            "tighten it (off to auto to prompt); to loosen it, use your own settings or --review"
        )
        return rest, [note]
    return rest | {"review_floor": asked.value}, []
