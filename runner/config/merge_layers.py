"""Merge validated layers of settings: later ones win, and a repository can only tighten."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from runner.config.declarations import Declaration
from runner.config.layers import Layer, Origin, line_of, variables_of
from runner.config.setting_values import GATE_KEYS, INSISTED, MergedSettings, flag_of, tightest
from runner.config.settings import BOUND, CAPPED, FLOOR, OWN, OWN_FILE
from runner.config.sizes import amount_of
from runner.errors import RunnerError
from runner.extensions.registry import OURS
from runner.lazy_module import lazy_module
from runner.model import ReviewMode
from runner.text.display import caret, display
from runner.text.foreign_documents import parse_toml
from runner.text.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.config import schema
else:
    schema = lazy_module("runner.config.schema")

_WITH_FLAG = frozenset({"sandbox.kind", "cluster.executor", "cluster.insecure", "git.draft_pr"})
"""User-only settings that have a flag; a message must name no other flag."""
_EXTENSION = Declaration("extension", "extension", "", (OWN_FILE,), None)
"""Tables of extensions, which parse them themselves."""
_OLD_TABLES = ("sast",)
"""Tables of former versions, whose keys have new names."""
_MOST_ASSURED = {"proof.assurance": "independent", "proof.test_visibility": "held-out"}
"""Settings whose strictest value limits a repository: it can't ask for less."""
_TABLES = ("gates", "resources", "compile")
"""Tables whose keys are merged individually."""
_KEYS = {
    "gates": GATE_KEYS,
    "permission": ("tool", "pattern", "action"),
    "secret_formats": ("name", "regex", "title", "env", "needles", "hint"),
}
"""Allowed keys of an entry, by table."""


class _Opened(Struct, frozen=True):
    """A layer by the settings' names, with what is needed to point at a key."""

    layer: Layer
    known: Mapping[str, Declaration]
    text: str
    values: Mapping[str, object]
    written: Mapping[str, Sequence[str]]
    """Key as written, table first, or variable or flag, by setting."""

    def where(self, path: Sequence[str]) -> str:
        """Return the place of a key: file and line, variable or flag."""
        written = self.written.get(path[0], path[:1])
        if self.layer.origin is Origin.ENVIRONMENT:
            return f"environment {written[0]}"
        if self.layer.origin is Origin.FLAG:
            return flag_of(written[0])
        keys = (*self.layer.table, *written, *".".join(path[1:]).split("."))
        line = line_of(self.text, tuple(key for key in keys if key))
        return f"{self.layer.path}:{line}" if line else self.layer.path

    def word(self, name: str) -> str:
        """Return a setting's name as written in its file, else its plain name."""
        is_file = self.layer.origin in (Origin.USER, Origin.REPOSITORY)
        return ".".join(self.written.get(name, (name,))) if is_file else name


def merge_layers(layers: Sequence[Layer], known: Mapping[str, Declaration]) -> MergedSettings:
    """Merge all layers of settings.

    Raises RunnerError that tells every unknown key and every bad value of every layer.
    """
    known = {**known, _EXTENSION.name: _EXTENSION}
    opened = [_open(layer, known) for layer in layers]
    _one_file_of_the_repository(opened)
    notes = [
        f"{one.where([name])}: {one.word(name)} is ignored: {_who_may(one.known[name])} may set it"
        for one in opened
        for name in sorted(_find_reserved(one))
    ]
    notes += [note for one in opened for note in (*_find_retired(one), *_find_old_names(one))]
    opened = [_without_yours(one) for one in opened]
    checked = [(one, *_validate(one)) for one in opened]
    problems = [
        problem
        for one, _, found in checked
        for problem in sorted([*_find_unknown(one), *found], key=_line)
    ]
    if problems:
        raise _all_of(problems)
    merged = _overlay_layers([(one, values) for one, values, _ in checked], notes)
    _require_executor(merged)
    return merged


def _line(problem: RunnerError) -> int:
    line = re.search(r":(\d+)$", problem.where)
    return int(line[1]) if line else 0


def _open(layer: Layer, known: Mapping[str, Declaration]) -> _Opened:
    """Return the values of a layer by setting. Raises RunnerError for a duplicate."""
    text = "" if layer.given else _decode(layer)
    found: Mapping[str, Any] = layer.given or _read_table(layer, text)
    keys: list[tuple[str, tuple[str, ...]]]
    if layer.origin is Origin.ENVIRONMENT:  # of two names of one setting, that of now holds
        words = {name: [v for v in variables_of(one) if v in found] for name, one in known.items()}
        keys = [(name, (both[0],)) for name, both in words.items() if both]
    elif layer.origin is Origin.FLAG:
        keys = [(name, (one.old,)) for name, one in known.items() if one.old in found]
    else:
        keys = list(_name_settings(found, known))
    opened = _Opened(layer, known, text, {}, {})
    values: dict[str, object] = {}
    written: dict[str, Sequence[str]] = {}
    for name, key in keys:
        if name in written:
            places = [
                replace(opened, written={name: one}).where([name]) for one in (written[name], key)
            ]
            raise RunnerError(
                f"{name} is set twice: {' and '.join(places)}",
                where=places[1],
                hint=f"keep {name} and remove the other",
            )
        written[name] = key
        values[name] = found[key[0]] if len(key) == 1 else found[key[0]][key[1]]
    return replace(opened, values=values, written=written)


def _name_settings(
    raw: Mapping[str, object], known: Mapping[str, Declaration]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each setting with its key as written; former names become current ones."""
    tables = {name.partition(".")[0] for name in known if "." in name} | set(_OLD_TABLES)
    names = {one.old: name for name, one in known.items()}
    for key, value in raw.items():
        table = key.replace("-", "_")
        if table in tables and isinstance(value, dict):
            for inner in value:
                name = f"{table}.{inner.replace('-', '_')}"
                old = names.get(name.replace(".", "_"), name)
                yield (name if name in known else old), (key, inner)
        else:
            yield names.get(table, table), (key,)


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


def _read_table(layer: Layer, text: str) -> dict[str, Any]:
    try:
        table: object = parse_toml(text)
    except ValueError as error:
        raise _bad_toml(layer, text, str(error)) from error
    for name in layer.table:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


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
        hint='write values as in `build.jobs = 4` or `build.implementer = "command"`',
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


def _find_retired(one: _Opened) -> list[str]:
    """Return warnings about deprecated values that are still accepted."""
    if str(one.values.get("proof.mutation", "")).strip().lower() != "strict":
        return []
    instead = 'is deprecated and means "warn": set proof.assurance = "independent" instead'
    return [f'{one.where(["proof.mutation"])}: proof.mutation = "strict" {instead}']


def _find_old_names(one: _Opened) -> list[str]:
    """Return a note on all former names in a file or in the environment."""
    is_variable = one.layer.origin is Origin.ENVIRONMENT
    pairs = []
    for name, written in one.written.items() if one.layer.origin is not Origin.FLAG else ():
        now = variables_of(one.known[name])[0] if is_variable and name in one.known else name
        word = ".".join(written)
        if word.replace("-", "_") != now:
            pairs.append(f"{word} to {now}")
    where = one.layer.path or "environment"
    return [f"{where}: rename old settings: {', '.join(pairs)}"] if pairs else []


def _find_reserved(one: _Opened) -> frozenset[str]:
    """Return the names in a layer that only the person may set.

    A store of artifacts only where it names a place outside: in the project a repository may.
    """
    if one.layer.origin is Origin.USER:
        return frozenset()
    is_repository = one.layer.origin is Origin.REPOSITORY
    marks = {OWN_FILE, OWN} if is_repository else {OWN_FILE}
    store = str(one.values.get("artifacts.store", ""))
    outside = "://" in store or store.startswith(("/", "~")) or ".." in store.split("/")
    return frozenset(
        name
        for name in one.values.keys() & one.known.keys()
        if marks & set(one.known[name].marks)
        or (name == "artifacts.store" and outside and is_repository)
    )


def _who_may(setting: Declaration) -> str:
    own = "only your own settings (~/.config/runner/runner.toml)"
    if OWN_FILE in setting.marks:
        return own
    flag = f", the environment or {flag_of(setting.old)}"
    return own + (flag if setting.name in _WITH_FLAG else " or the environment")


def _without_yours(one: _Opened) -> _Opened:
    reserved = _find_reserved(one) | {_EXTENSION.name}
    return replace(one, values={k: v for k, v in one.values.items() if k not in reserved})


def _find_unknown(one: _Opened) -> list[RunnerError]:
    return [
        RunnerError(
            f"unknown setting {display(one.word(name))[:80]}",
            where=one.where([name]),
            hint=_suggest(name, one.known) or "remove it; `runner settings --all` lists them all",
        )
        for name in one.values
        if name not in one.known
    ]


def _suggest(name: str, known: Mapping[str, Declaration]) -> str:
    """Return a hint with the setting closest to a misspelled name; empty if there is none."""
    names = {word: setting for setting, one in known.items() for word in (setting, one.old)}
    near = nearest(name, names)
    return f'did you mean "{names[near]}"?' if near else ""


def _validate(one: _Opened) -> tuple[dict[str, object], Sequence[RunnerError]]:
    values = {name: value for name, value in one.values.items() if name in one.known}
    if not values:
        return {}, ()
    found, mistakes = schema.validate_layer(values, one.known)
    problems = []
    for path, message in mistakes:
        # pydantic adds list positions and type kinds
        places = [part for part in path if "[" not in part]
        words = (one.word(path[0]), *(part for part in places[1:] if not part.isdigit()))
        near = did_you_mean(path[-1], _KEYS.get(path[0], ())) if "is unknown" in message else ""
        what = f"{display('.'.join(words))} {message}"
        problems.append(RunnerError(what, where=one.where(places), hint=near))
    return found, problems or _paths_outside(one, found)


def _paths_outside(one: _Opened, values: Mapping[str, object]) -> Sequence[RunnerError]:
    name = "build.task_graph"
    plan = str(values.get(name, ""))
    if one.layer.origin is Origin.REPOSITORY and (plan[:1] == "/" or ".." in plan.split("/")):
        message = f"{one.word(name)} must be a path inside the repository"
        return [RunnerError(message, where=one.where([name]), hint='such as "docs/TASK-GRAPH.md"')]
    return ()


def _require_executor(merged: MergedSettings) -> None:
    """Raise RunnerError for an executor that no extension can have: the person named none.

    Whether one that is named has it is asked where a run opens it: nothing is loaded here.
    """
    name = str(merged.values.get("cluster.executor", "threads"))
    word = name.partition(":")[0]
    ours = any(word in one.executors for one in OURS)
    if not (ours or word in ("inline", "threads") or merged.values.get("build.extensions")):
        message = f"executor {schema.EXECUTORS}, not {display(name)}"
        hint = 'if another package has it, set build.extensions = ["NAME"] in your own settings'
        raise RunnerError(message, where=merged.sources["cluster.executor"], hint=hint)


def _all_of(problems: Sequence[RunnerError]) -> RunnerError:
    if len(problems) == 1:
        return problems[0]
    lines = []
    for one in problems:
        lines += [f"{one.where}: {one.message}", *([f"  hint: {one.hint}"] if one.hint else ())]
    return RunnerError(
        f"{len(problems)} settings are invalid",
        detail="\n".join(lines),
        hint="fix them; `runner settings` then shows what is set and where it comes from",
    )


def _overlay_layers(
    layers: Sequence[tuple[_Opened, dict[str, object]]], notes: list[str]
) -> MergedSettings:
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for one, found in layers:
        is_repository = one.layer.origin is Origin.REPOSITORY
        if one.layer.origin in (Origin.ENVIRONMENT, Origin.FLAG):
            values |= {mode: True for name, mode in INSISTED.items() if name in found}
        for setting, value in found.items():
            declared = one.known[setting]
            if is_repository and (why := _find_looser(declared, value, values.get(setting))):
                notes.append(f"{one.where([setting])}: {one.word(setting)} {why}")
                continue
            name = f"floor.{declared.old}" if is_repository and FLOOR in declared.marks else setting
            sources[name] = one.where([setting])
            if name in _TABLES and isinstance(value, dict):
                sources |= {f"{name}.{key}": one.where([name, key]) for key in value}
                earlier = values.get(name)
                values[name] = {**(earlier if isinstance(earlier, dict) else {}), **value}
            else:
                values[name] = value
    if "gates" in sources:
        sources["gates_by_type"] = sources["gates"]
    return MergedSettings(values, sources, tuple(notes))


def _find_looser(declared: Declaration, asked: object, own: object) -> str:
    """Return why a repository may not loosen this setting of the person; empty if it may set it."""
    allowed = declared.default if own is None and CAPPED in declared.marks else own
    if {BOUND, CAPPED} & set(declared.marks) and allowed is not None and _is_more(asked, allowed):
        return f"= {asked} is ignored: your own settings allow at most {allowed}"
    most = _MOST_ASSURED.get(declared.name)
    if most is not None and own == most != asked:
        return f'is ignored: your own settings require "{most}"'
    if declared.name != "review.mode":
        return ""
    least = tightest(ReviewMode(str(own or ReviewMode.OFF)), ReviewMode(str(asked)))
    if asked != ReviewMode.OFF and asked == least:
        return ""
    return (
        f'= "{asked}" is ignored: a repository may only make reviews stricter (off, auto, prompt); '
        "to make them looser, use your own settings or --review"
    )


def _is_more(asked: object, allowed: object) -> bool:
    most, wanted = amount_of(str(allowed)), amount_of(str(asked))
    return most is None or wanted is None or wanted > most
