"""The shapes of settings, held by pydantic-settings; imported only when something is set.

Every layer is validated alone, so that one error reports the mistakes of all of them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from runner.config.permissions import is_pattern
from runner.config.setting_types import (
    Folder,
    Had,
    HomePath,
    Hosts,
    Line,
    ModelName,
    Name,
    Names,
    Percent,
    Positive,
    Rate,
    Reach,
    Review,
    Seconds,
    Size,
    Whole,
    absolute_path,
    call_rate,
    empty_for_none,
    exact_variable,
    executor_name,
    format_name,
    id_prefix,
    linear_expression,
    lower_case,
    mutation_word,
    nats_address,
    no_switch,
    receiver_address,
    rule_pattern,
    server_address,
    server_name,
    split_globs,
    split_kinds,
    split_paths,
    split_words,
    store_place,
    tool_name,
    variable_name,
)
from runner.config.sizes import with_names
from runner.config.values import GATE_KEYS
from runner.model import Network
from runner.text.wording import nearest


def _verify_when(value: object) -> object:
    """`verify_at_end` as it was once: `true` proves everything, `false` nothing."""
    text = str(value).casefold() if isinstance(value, (bool, str)) else value
    return {"true": "all", "false": "never"}.get(text, text) if isinstance(text, str) else value


class GateSetting(BaseModel):
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

    tool: Annotated[Line, AfterValidator(tool_name)]
    pattern: Annotated[str, AfterValidator(rule_pattern)] = "**"
    action: Annotated[Literal["allow", "ask", "deny"], BeforeValidator(lower_case)]

    @model_validator(mode="after")
    def _can_be_read(self) -> Rule:
        if not is_pattern(self.tool, self.pattern):
            raise ValueError("must be a valid glob as in gitignore(5)")
        return self


class SecretFormat(BaseModel):
    """One `[[secret_formats]]`, in the form of the built-in ones (`runner/secrets/rules`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(format_name)]
    regex: Annotated[str, AfterValidator(linear_expression)]
    title: Line = ""
    env: Annotated[str, AfterValidator(variable_name)] | None = None
    needles: Annotated[tuple[Line, ...], Field(max_length=20)] = ()
    hint: Annotated[str, AfterValidator(linear_expression)] | None = None
    random: bool = False
    unlike_words: bool = False
    unlike_digest: bool = False


class McpServerSetting(BaseModel):
    """One `[mcp.NAME]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Line
    env: Names = ()
    network: Reach = Network.NO
    seconds: Seconds = 60.0


class Leased(BaseModel):
    """One `[secret.NAME]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Line
    ttl: Seconds = 900.0


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
    """Whether a table is meant as a gate: also one that misspells `command`, for an error."""
    if not set(table).isdisjoint(GATE_KEYS) and not isinstance(table.get("command"), dict):
        return True
    return any(nearest(key, ("command",)) for key in table)


def _of_type(name: str, gate: object) -> object:
    table = {"command": gate} if isinstance(gate, str) else gate
    return {**table, "types": [name]} if isinstance(table, dict) else table


Endings = Annotated[
    tuple[Literal["done", "blocked", "waits", "regression", "stopped"], ...],
    BeforeValidator(split_words),
]
"""The ends of runs that notify a person."""


class SettingsLayer(BaseSettings):
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
    backoff: Annotated[float, Field(ge=0, le=100), BeforeValidator(no_switch)] | None = None
    notify_command: Line | None = None
    notify_on: Endings | None = None
    draft_pr: bool | None = None
    publish: Annotated[Line, AfterValidator(empty_for_none)] | None = None
    publish_at: Literal["task", "end"] | None = None
    lease_seconds: Seconds | None = None
    extensions: Annotated[tuple[Line, ...], BeforeValidator(split_words)] | None = None
    store: Line | None = None
    four_eyes: bool | None = None
    worker_default_branch: bool | None = None
    worker_beat: Seconds | None = None
    worker_ttl: Seconds | None = None
    worker_poll: Seconds | None = None
    worker_cache: Size | None = None
    worker_credentials: Annotated[tuple[Line, ...], BeforeValidator(split_words)] | None = None
    worker_folders: Annotated[tuple[Line, ...], BeforeValidator(split_paths)] | None = None
    artifacts_store: Annotated[Line, AfterValidator(store_place)] | None = None
    events: Annotated[str, AfterValidator(nats_address)] | None = None
    events_days: Annotated[int, Field(ge=7, le=90), BeforeValidator(no_switch)] | None = None
    events_key_env: Annotated[str, AfterValidator(variable_name)] | None = None
    webhook: Annotated[str, AfterValidator(receiver_address)] | None = None
    webhook_key_env: Annotated[str, AfterValidator(variable_name)] | None = None
    telemetry_otlp: Annotated[str, AfterValidator(receiver_address)] | None = None
    telemetry_content: bool | None = None
    soft_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    hard_seconds: Seconds | None = None
    gate_seconds: Seconds | None = None
    types_seconds: Seconds | None = None
    lint_seconds: Seconds | None = None
    gates: Annotated[dict[Line, GateSetting], BeforeValidator(_flat_gates)] | None = None
    coverage: Percent | None = None
    project_coverage: Percent | None = None
    checkpoint_every: Annotated[int, Field(ge=3, le=5), BeforeValidator(no_switch)] | None = None
    implementer: Line | None = None
    command: Line | None = None
    agent_command: Line | None = None
    acp_command: Line | None = None
    agent_env: Names | None = None
    agent_files: Annotated[tuple[HomePath, ...], BeforeValidator(split_paths)] | None = None
    model_plan: ModelName | None = None
    model_execute: ModelName | None = None
    model_escalate: Annotated[tuple[ModelName, ...], BeforeValidator(split_words)] | None = None
    model_review: ModelName | None = None
    model_draft: ModelName | None = None
    model_base_url: Annotated[str, AfterValidator(server_address)] | None = None
    model_key_env: Annotated[str, AfterValidator(variable_name)] | None = None
    model_calls: Annotated[str, AfterValidator(call_rate)] | None = None
    permission: tuple[Rule, ...] | None = None
    secret_formats: Annotated[tuple[SecretFormat, ...], Field(max_length=50)] | None = None
    mcp: dict[Annotated[str, AfterValidator(server_name)], McpServerSetting] | None = None
    secret: dict[Annotated[str, AfterValidator(exact_variable)], Leased] | None = None
    review: Review | None = None
    review_at: Annotated[Literal["proof", "write"], BeforeValidator(lower_case)] | None = None
    plan_first: bool | None = None
    plan_review: Review | None = None
    review_command: Line | None = None
    sandbox: (
        Annotated[
            Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"],
            BeforeValidator(lower_case),
        ]
        | None
    ) = None
    sandbox_read: Annotated[tuple[Line, ...], BeforeValidator(split_paths)] | None = None
    held_out_dir: Annotated[str, AfterValidator(absolute_path)] | None = None
    worktree_include: Annotated[tuple[Line, ...], BeforeValidator(split_globs)] | None = None
    worktree_include_remote: bool | None = None
    processes: Whole | None = None
    memory: Size | None = None
    file_size: Size | None = None
    processors: Positive | None = None
    disk: Size | None = None
    io: Rate | None = None
    proposal_file_size: Size | None = None
    proposal_size: Size | None = None
    proposal_files: Whole | None = None
    network: Reach | None = None
    registries: Hosts | None = None
    pass_env: Names | None = None
    secrets: Names | None = None
    id_prefixes: (
        Annotated[
            tuple[Annotated[str, AfterValidator(id_prefix)], ...],
            BeforeValidator(split_words),
        ]
        | None
    ) = None
    task_graph: Line | None = None
    context_tokens: Whole | None = None
    read_allow: Annotated[tuple[Line, ...], BeforeValidator(split_globs)] | None = None
    skills_auto_discover: bool | None = None
    skills_fallback_to_builtin: bool | None = None
    skills_folders: Annotated[tuple[Folder, ...], BeforeValidator(split_paths)] | None = None
    compile: dict[Line, Line] | None = None
    resources: Annotated[dict[Name, Had], BeforeValidator(with_names)] | None = None
    sast_block_at: (
        Annotated[Literal["low", "medium", "high", "never"], BeforeValidator(lower_case)] | None
    ) = None
    strict_contracts: bool | None = None
    require_proof: (
        Annotated[Literal["always", "agents", "never"], BeforeValidator(lower_case)] | None
    ) = None
    require_contracts: (
        Annotated[Literal["api", "api,data", "none"], BeforeValidator(split_kinds)] | None
    ) = None
    assurance: Annotated[Literal["tests", "independent"], BeforeValidator(lower_case)] | None = None
    strict: bool | None = None
    coverage_missing: Annotated[Literal["warn", "fail"], BeforeValidator(lower_case)] | None = None
    contract_examples: Whole | None = None
    default_gates: bool | None = None
    held_out_land: bool | None = None
    held_out_rounds: Whole | None = None
    test_visibility: (
        Annotated[Literal["held-out", "visible"], BeforeValidator(lower_case)] | None
    ) = None
    red_first: Annotated[Literal["auto", "always", "never"], BeforeValidator(lower_case)] | None = (
        None
    )
    mutation: Annotated[Literal["off", "warn"], BeforeValidator(mutation_word)] | None = None
    regression: Annotated[Literal["repair", "halt"], BeforeValidator(lower_case)] | None = None
    changed_dependents: (
        Annotated[Literal["direct", "transitive"], BeforeValidator(lower_case)] | None
    ) = None
    conservative: bool | None = None
    commit: Annotated[Literal["task", "manual"], BeforeValidator(lower_case)] | None = None
    record: Annotated[Literal["end", "never"], BeforeValidator(lower_case)] | None = None
    sign_seconds: Seconds | None = None
    sign_off: bool | None = None
    verify_at_end: (
        Annotated[Literal["changed", "all", "never"], BeforeValidator(_verify_when)] | None
    ) = None
    executor: Annotated[str, AfterValidator(executor_name)] | None = None
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


def validate_layer(layer: dict[str, object]) -> tuple[dict[str, object], list[Mistake]]:
    """A layer's values as JSON would have them, or what is wrong with them."""
    try:
        given = SettingsLayer(**layer)  # type: ignore[arg-type]  # finding that out is its work
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
    own = message.removeprefix("Value error, ")
    plain = own if own != message else message.lower()  # ours name what is written in capitals
    return words.get(kind) or plain.rstrip(".")
