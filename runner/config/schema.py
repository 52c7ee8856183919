"""The shapes of settings, held by pydantic-settings; imported only when something is set.

Every layer is validated alone, so that the mistakes of all of them are told together.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from runner.config import registries as hosts
from runner.config.permissions import TOOLS, names_a_tool
from runner.config.sizes import bytes_of, had, with_names
from runner.config.values import GATE_KEYS
from runner.model import Network, ReviewMode
from runner.text.hints import nearest

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:(s|m|h)|(s)ec(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?)?"
)


def _no_switch(value: object) -> object:
    """TOML's true is Python's 1: no number was meant."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004  pydantic wants ValueError
    return value


def _seconds(value: object) -> object:
    """`90`, `"90s"`, `"10 minutes"`, `"1h"`."""
    if not isinstance(value, str):
        return _no_switch(value)
    match = _DURATION.fullmatch(value.strip().lower())
    if match is None:
        raise ValueError('must be seconds, or a time such as "90s" or "10 minutes"')
    unit = next((found for found in match.groups()[1:] if found), "s")
    return float(match[1]) * _UNITS[unit]


def _percent(value: object) -> object:
    return value.strip().removesuffix("%") if isinstance(value, str) else _no_switch(value)


def _words(value: object) -> object:
    """A list, or one text of words between commas or blanks."""
    return re.split(r"[,\s]+", value.strip()) if isinstance(value, str) else value


def _paths(value: object) -> object:
    """A list, or one text as in PATH."""
    return [path for path in value.split(":") if path] if isinstance(value, str) else value


def _globs(value: object) -> object:
    """A list, or one text of globs between commas."""
    return (
        [one for one in re.split(r"\s*,\s*", value.strip()) if one]
        if isinstance(value, str)
        else value
    )


def _folder(value: str) -> str:
    path = value.strip().removeprefix("./").rstrip("/")
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("must be folders of the project")
    return path


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _variable_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_*][A-Za-z0-9_*]*", value):
        raise ValueError("must be names of environment variables")
    return value


def _registry(value: str) -> str:
    if mistake := hosts.wrong(value):
        raise ValueError(mistake)
    return hosts.spelled(value)


def _prefix(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value.removesuffix("-")):
        raise ValueError("must be letters and digits, a letter first")
    return value.removesuffix("-")


def _one_line(value: str) -> str:
    if "\0" in value or not value.strip():
        raise ValueError("must not be empty")
    return value.strip()


def _below_home(value: str) -> str:
    path = value.strip().removeprefix("~/")
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("must be paths below your home folder")
    return path


def _model_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][^\s]*", value.strip()):
        raise ValueError("must be a model's name, without blanks")
    return value.strip()


def _address(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/[^\s]*)?", value.strip()):
        raise ValueError("must be an address, such as http://127.0.0.1:8080/v1")
    return value.strip()


def _tool(value: str) -> str:
    if not names_a_tool(value):
        raise ValueError(f"must be one of {', '.join(TOOLS)}, mcp__SERVER__TOOL, or a wildcard")
    return value


def _pattern(value: str) -> str:
    if value.startswith("!"):
        raise ValueError("must not begin with !: write a later rule that allows")
    return _one_line(value)


def _server_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,31}", value):
        raise ValueError("must be named with letters, digits and -, at most 32")
    return value


def _size(value: str) -> str:
    if bytes_of(value) is None:
        raise ValueError("must be a number of bytes, or one with k, m, g or t behind it")
    return value.strip()


def _executor(value: str) -> str:
    if not re.fullmatch(r"inline|threads|dask|dask:\s*\S+", value.strip()):
        raise ValueError(
            "must be inline, threads, dask, dask:tcp://HOST:8786 or dask:SCHEDULER-FILE.json"
        )
    return value.strip()


def _amount(value: object) -> object:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Whole = Annotated[PositiveInt, BeforeValidator(_no_switch)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86400), BeforeValidator(_seconds)]
Percent = Annotated[float, Field(ge=0, le=100), BeforeValidator(_percent)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_no_switch)]
Line = Annotated[str, AfterValidator(_one_line)]
ModelName = Annotated[str, AfterValidator(_model_name)]
HomePath = Annotated[str, AfterValidator(_below_home)]
Folder = Annotated[str, AfterValidator(_folder)]
Size = Annotated[str, BeforeValidator(_amount), AfterValidator(_size)]
Names = Annotated[
    tuple[Annotated[str, AfterValidator(_variable_name)], ...], BeforeValidator(_words)
]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_registry)], ...], BeforeValidator(_words)]
Name = Annotated[str, AfterValidator(_one_line), AfterValidator(str.casefold)]
Had = Annotated[str, BeforeValidator(had)]
Review = Annotated[ReviewMode, BeforeValidator(_lower)]
Reach = Annotated[Network, BeforeValidator(_lower)]


class Gate(BaseModel):
    """A gate, as a table or as its command alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Line
    seconds: Seconds | None = None
    network: Reach = Network.NO
    types: tuple[Line, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_command(cls, value: Any) -> Any:
        return {"command": value} if isinstance(value, str) else value


class Rule(BaseModel):
    """One `[[permission]]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: Annotated[Line, AfterValidator(_tool)]
    pattern: Annotated[str, AfterValidator(_pattern)] = "**"
    action: Annotated[Literal["allow", "ask", "deny"], BeforeValidator(_lower)]


class Server(BaseModel):
    """One `[mcp.NAME]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Line
    env: Names = ()
    network: Reach = Network.NO
    seconds: Seconds = 60.0


def _flat_gates(value: object) -> object:
    """`gates.ui.lint` becomes a gate `ui.lint` of the type `ui`."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, object] = {}
    for name, entry in value.items():
        if isinstance(entry, dict) and entry and not _is_gate(entry):
            flat |= {f"{name}.{inner}": _of_type(name, gate) for inner, gate in entry.items()}
        else:
            flat[name] = entry
    return flat


def _is_gate(table: dict[str, object]) -> bool:
    """Whether a table is meant as a gate: also one that misspells `command`, to be told so."""
    if not set(table).isdisjoint(GATE_KEYS) and not isinstance(table.get("command"), dict):
        return True
    return any(nearest(key, ("command",)) for key in table)


def _of_type(name: str, gate: object) -> object:
    table = {"command": gate} if isinstance(gate, str) else gate
    return {**table, "types": [name]} if isinstance(table, dict) else table


class Given(BaseSettings):
    """What one layer sets; what it leaves out stays out."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    jobs: Whole | None = None
    agents: Whole | None = None
    attempts: Whole | None = None
    minutes: Positive | None = None
    tokens: Whole | None = None
    dollars: Positive | None = None
    tool_calls: Whole | None = None
    attempt_minutes: Positive | None = None
    attempt_tokens: Whole | None = None
    attempt_dollars: Positive | None = None
    attempt_tool_calls: Whole | None = None
    run_minutes: Positive | None = None
    run_tokens: Whole | None = None
    run_dollars: Positive | None = None
    run_tool_calls: Whole | None = None
    backoff: Annotated[float, Field(ge=0, le=100), BeforeValidator(_no_switch)] | None = None
    notify_command: Line | None = None
    draft_pr: bool | None = None
    soft_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    hard_seconds: Seconds | None = None
    gate_seconds: Seconds | None = None
    types_seconds: Seconds | None = None
    lint_seconds: Seconds | None = None
    gates: Annotated[dict[Line, Gate], BeforeValidator(_flat_gates)] | None = None
    coverage: Percent | None = None
    project_coverage: Percent | None = None
    checkpoint_every: Annotated[int, Field(ge=3, le=5), BeforeValidator(_no_switch)] | None = None
    implementer: Line | None = None
    command: Line | None = None
    agent_command: Line | None = None
    agent_env: Names | None = None
    agent_files: Annotated[tuple[HomePath, ...], BeforeValidator(_paths)] | None = None
    model_plan: ModelName | None = None
    model_execute: ModelName | None = None
    model_review: ModelName | None = None
    model_base_url: Annotated[str, AfterValidator(_address)] | None = None
    model_key_env: Annotated[str, AfterValidator(_variable_name)] | None = None
    permission: tuple[Rule, ...] | None = None
    mcp: dict[Annotated[str, AfterValidator(_server_name)], Server] | None = None
    review: Review | None = None
    review_at: Annotated[Literal["proof", "write"], BeforeValidator(_lower)] | None = None
    plan_first: bool | None = None
    plan_review: Review | None = None
    review_command: Line | None = None
    sandbox: (
        Annotated[Literal["auto", "bubblewrap", "landlock", "none"], BeforeValidator(_lower)] | None
    ) = None
    sandbox_read: Annotated[tuple[Line, ...], BeforeValidator(_paths)] | None = None
    processes: Whole | None = None
    memory: Size | None = None
    file_size: Size | None = None
    network: Reach | None = None
    registries: Hosts | None = None
    pass_env: Names | None = None
    secrets: Names | None = None
    id_prefixes: (
        Annotated[
            tuple[Annotated[str, AfterValidator(_prefix)], ...],
            BeforeValidator(_words),
        ]
        | None
    ) = None
    task_graph: Line | None = None
    context_tokens: Whole | None = None
    read_allow: Annotated[tuple[Line, ...], BeforeValidator(_globs)] | None = None
    skills_auto_discover: bool | None = None
    skills_fallback_to_builtin: bool | None = None
    skills_folders: Annotated[tuple[Folder, ...], BeforeValidator(_paths)] | None = None
    compile: dict[Line, Line] | None = None
    resources: Annotated[dict[Name, Had], BeforeValidator(with_names)] | None = None
    sast_block_at: (
        Annotated[Literal["low", "medium", "high", "never"], BeforeValidator(_lower)] | None
    ) = None
    strict_contracts: bool | None = None
    strict: bool | None = None
    coverage_missing: Annotated[Literal["warn", "fail"], BeforeValidator(_lower)] | None = None
    contract_examples: Whole | None = None
    default_gates: bool | None = None
    red_first: Annotated[Literal["auto", "always", "never"], BeforeValidator(_lower)] | None = None
    regression: Annotated[Literal["repair", "halt"], BeforeValidator(_lower)] | None = None
    changed_dependents: (
        Annotated[Literal["direct", "transitive"], BeforeValidator(_lower)] | None
    ) = None
    conservative: bool | None = None
    commit: Annotated[Literal["task", "manual"], BeforeValidator(_lower)] | None = None
    verify_at_end: bool | None = None
    executor: Annotated[str, AfterValidator(_executor)] | None = None
    insecure_cluster: bool | None = None
    dask_tls_ca: Line | None = None
    dask_tls_cert: Line | None = None
    dask_tls_key: Line | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  pydantic-settings names them
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """One layer and nothing else: no `.env`, and the environment is a layer of its own."""
        return (init_settings,)


def validated(layer: dict[str, object]) -> tuple[dict[str, object], list[Mistake]]:
    """A layer's values as JSON would have them, or what is wrong with them."""
    try:
        given = Given(**layer)  # type: ignore[arg-type]  # finding that out is its work
    except ValidationError as error:
        return {}, [_mistake(problem) for problem in error.errors(include_url=False)]
    return given.model_dump(mode="json", exclude_unset=True), []


Mistake = tuple[tuple[str, ...], str, str]
"""Path of the key, what is wrong, and what is there."""


def _mistake(problem: Any) -> Mistake:
    path = tuple(str(part) for part in problem["loc"])
    value = problem["input"]
    shown = "" if isinstance(value, (dict, list, tuple)) else repr(value)[:80]
    return path, _in_words(problem["type"], problem.get("ctx", {}), problem["msg"]), shown


def _in_words(kind: str, context: dict[str, Any], message: str) -> str:
    words = {
        "int_parsing": "must be a whole number",
        "int_type": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_parsing": "must be a number",
        "float_type": "must be a number",
        "bool_parsing": "must be true or false",
        "bool_type": "must be true or false",
        "string_type": "must be text",
        "tuple_type": "must be a list",
        "dict_type": "must be a table",
        "model_type": "must be a command or a table with a command",
        "missing": "is missing",
        "extra_forbidden": "is unknown",
        "greater_than": f"must be more than {context.get('gt', 0):g}",
        "greater_than_equal": f"must be at least {context.get('ge', 0):g}",
        "less_than_equal": f"must be at most {context.get('le', 0):g}",
        "literal_error": f"must be {context.get('expected')}",
        "enum": f"must be {context.get('expected')}",
    }
    return words.get(kind) or message.removeprefix("Value error, ").rstrip(".").lower()
