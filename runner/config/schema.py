"""The pydantic models of settings; imported only when something is set.

Every value is validated alone, so that one error reports the mistakes of all of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from runner.config import setting_types as kinds
from runner.config.permissions import is_pattern
from runner.config.sizes import with_names
from runner.config.values import GATE_KEYS
from runner.model import Network
from runner.text.display import display
from runner.text.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.declarations import Declaration


def _verify_when(value: object) -> object:
    """Convert former booleans of `verify_at_end`: `true` becomes `all`, `false` becomes `never`."""
    text = str(value).casefold() if isinstance(value, (bool, str)) else value
    return {"true": "all", "false": "never"}.get(text, text) if isinstance(text, str) else value


class GateSetting(BaseModel):
    """A gate, as a table or as its command alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: kinds.Line
    seconds: kinds.Seconds | None = None
    network: kinds.Reach = Network.NO
    types: tuple[kinds.Line, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_command(cls, value: Any) -> Any:
        return {"command": value} if isinstance(value, str) else value


class Rule(BaseModel):
    """One `[[permission]]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: Annotated[kinds.Line, AfterValidator(kinds.tool_name)]
    pattern: Annotated[str, AfterValidator(kinds.rule_pattern)] = "**"
    action: Annotated[Literal["allow", "ask", "deny"], BeforeValidator(kinds.lower_case)]

    @model_validator(mode="after")
    def _can_be_read(self) -> Rule:
        if not is_pattern(self.tool, self.pattern):
            raise ValueError("must be a valid glob as in gitignore(5)")
        return self


class SecretFormat(BaseModel):
    """One `[[secret_formats]]`, in the form of the built-in ones (`runner/secrets/rules`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(kinds.format_name)]
    regex: Annotated[str, AfterValidator(kinds.linear_expression)]
    title: kinds.Line = ""
    env: Annotated[str, AfterValidator(kinds.variable_name)] | None = None
    needles: Annotated[tuple[kinds.Line, ...], Field(max_length=20)] = ()
    hint: Annotated[str, AfterValidator(kinds.linear_expression)] | None = None
    random: bool = False
    unlike_words: bool = False
    unlike_digest: bool = False


class McpServerSetting(BaseModel):
    """One `[mcp.NAME]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: kinds.Line
    env: kinds.Names = ()
    network: kinds.Reach = Network.NO
    seconds: kinds.Seconds = 60.0


class Leased(BaseModel):
    """One `[secret.NAME]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: kinds.Line
    ttl: kinds.Seconds = 900.0


def _flat_gates(value: object) -> object:
    """Flatten nested gates: `gates.ui.lint` becomes a gate `ui.lint` of the type `ui`."""
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
    """Return whether a table looks like a gate, even with a misspelled `command` key."""
    if not set(table).isdisjoint(GATE_KEYS) and not isinstance(table.get("command"), dict):
        return True
    return any(nearest(key, ("command",)) for key in table)


def _of_type(name: str, gate: object) -> object:
    table = {"command": gate} if isinstance(gate, str) else gate
    return {**table, "types": [name]} if isinstance(table, dict) else table


def _one_of(words: str, read: Any = kinds.lower_case) -> Any:
    """Return a type for one of the words separated by `|`."""
    literal: Any = Literal
    return Annotated[literal[tuple(words.split("|"))], BeforeValidator(read)]


def _many(kind: Any, split: Any) -> Any:
    """Return a tuple type whose text form `split` divides."""
    return Annotated[tuple[kind, ...], BeforeValidator(split)]


SHAPES: dict[str, Any] = {
    "bool": bool,
    "int": kinds.Whole,
    "float": kinds.Positive,
    "str": kinds.Line,
    "AbsolutePath": Annotated[str, AfterValidator(kinds.absolute_path)],
    "CallRate": Annotated[str, AfterValidator(kinds.call_rate)],
    "CheckpointCount": Annotated[int, Field(ge=3, le=5), BeforeValidator(kinds.no_switch)],
    "Compilers": dict[kinds.Line, kinds.Line],
    "ContractKinds": _one_of("api|api,data|none", kinds.split_kinds),
    "Endings": _many(
        Literal["done", "blocked", "waits", "regression", "stopped"], kinds.split_words
    ),
    "EventDays": Annotated[int, Field(ge=7, le=90), BeforeValidator(kinds.no_switch)],
    "ExecutorName": Annotated[str, AfterValidator(kinds.executor_name)],
    "Factor": Annotated[float, Field(ge=0, le=100), BeforeValidator(kinds.no_switch)],
    "Folders": _many(kinds.Folder, kinds.split_paths),
    "Gates": Annotated[dict[kinds.Line, GateSetting], BeforeValidator(_flat_gates)],
    "Globs": _many(kinds.Line, kinds.split_globs),
    "HomePaths": _many(kinds.HomePath, kinds.split_paths),
    "Hosts": kinds.Hosts,
    "IdPrefixes": _many(Annotated[str, AfterValidator(kinds.id_prefix)], kinds.split_words),
    "Leases": dict[Annotated[str, AfterValidator(kinds.exact_variable)], Leased],
    "McpServers": dict[Annotated[str, AfterValidator(kinds.server_name)], McpServerSetting],
    "ModelName": kinds.ModelName,
    "ModelNames": _many(kinds.ModelName, kinds.split_words),
    "Mutation": _one_of("off|warn", kinds.mutation_word),
    "Names": kinds.Names,
    "NatsAddress": Annotated[str, AfterValidator(kinds.nats_address)],
    "OptionalLine": Annotated[kinds.Line, AfterValidator(kinds.empty_for_none)],
    "Paths": _many(kinds.Line, kinds.split_paths),
    "Percent": kinds.Percent,
    "Rate": kinds.Rate,
    "Reach": kinds.Reach,
    "ReceiverAddress": Annotated[str, AfterValidator(kinds.receiver_address)],
    "Review": kinds.Review,
    "Rules": tuple[Rule, ...],
    "Seconds": kinds.Seconds,
    "Wait": kinds.Wait,
    "SecretFormats": Annotated[tuple[SecretFormat, ...], Field(max_length=50)],
    "ServerAddress": Annotated[str, AfterValidator(kinds.server_address)],
    "Size": kinds.Size,
    "StorePlace": Annotated[kinds.Line, AfterValidator(kinds.store_place)],
    "Supplies": Annotated[dict[kinds.Name, kinds.Had], BeforeValidator(with_names)],
    "VariableName": Annotated[str, AfterValidator(kinds.variable_name)],
    "Verification": _one_of("changed|all|never", _verify_when),
    "WordList": _many(kinds.Line, kinds.split_words),
}
"""Name of a value's shape in declarations, with its type."""


def validate_layer(
    layer: Mapping[str, object], known: Mapping[str, Declaration]
) -> tuple[dict[str, object], list[Mistake]]:
    """Validate a layer; return its values as JSON data, or no values and the mistakes."""
    found: dict[str, object] = {}
    mistakes: list[Mistake] = []
    for name, value in layer.items():
        adapter = find_adapter(known[name].shape)
        try:
            valid = adapter.validate_python(value)
        except ValidationError as error:
            mistakes += [_mistake(name, one) for one in error.errors(include_url=False)]
        else:
            found[name] = adapter.dump_python(valid, mode="json", exclude_unset=True)
    return ({} if mistakes else found), mistakes


@cache
def find_adapter(shape: str) -> TypeAdapter[Any]:
    """Return the validator of a shape. Raises KeyError for a shape that no setting declares."""
    return TypeAdapter(_one_of(shape) if "|" in shape else SHAPES[shape])


Mistake = tuple[tuple[str, ...], str]
"""Path of the key and what is wrong with its value."""


def _mistake(name: str, problem: Any) -> Mistake:
    path = (name, *(str(part) for part in problem["loc"]))
    value = problem["input"]
    words = _in_words(problem["type"], problem.get("ctx", {}), problem["msg"])
    if isinstance(value, (dict, list, tuple)) or problem["type"] == "extra_forbidden":
        return path, words
    return path, f"{words}, not {display(repr(value)[:80])}"


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
