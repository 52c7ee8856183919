"""Parse and validate settings with pydantic; imported only when something is set.

Every value is validated alone, so that one error reports the mistakes of all of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from runner.config import registries as hosts
from runner.config.permissions import TOOLS, is_pattern, names_a_tool
from runner.config.setting_values import GATE_KEYS
from runner.config.sizes import bytes_of, parse_rate, parse_supply, with_names
from runner.lazy_module import lazy_module
from runner.model import Network, ReviewMode
from runner.text.display import display
from runner.text.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import re2

    from runner.config.declarations import Declaration
    from runner.secrets import load_rules, patterns
else:
    load_rules = lazy_module("runner.secrets.load_rules")
    patterns = lazy_module("runner.secrets.patterns")
    re2 = lazy_module("re2")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:(s|m|h)|(s)ec(?:ond)?s?|(m)in(?:ute)?s?|(h)(?:ou)?rs?)?"
)

_LARGEST_PROGRAM = 4000
"""RE2 instructions: fifty such formats are searched at once within its memory limit."""


EXECUTORS = "must be inline, threads, dask, dask:tcp://HOST:8786 or dask:SCHEDULER-FILE.json"


def no_switch(value: object) -> object:
    """Reject a boolean, which Python would accept as a number."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004  pydantic wants ValueError
    return value


def _seconds(value: object) -> object:
    """Convert `90`, `"90s"`, `"10 minutes"` or `"1h"` to seconds."""
    if not isinstance(value, str):
        return no_switch(value)
    match = _DURATION.fullmatch(value.strip().lower())
    if match is None:
        raise ValueError('must be seconds, or a time such as "90s" or "10 minutes"')
    unit = next((found for found in match.groups()[1:] if found), "s")
    return float(match[1]) * _UNITS[unit]


def _percent(value: object) -> object:
    return value.strip().removesuffix("%") if isinstance(value, str) else no_switch(value)


def _split_at(pattern: str) -> Callable[[object], object]:
    """Accept a list, or one text of its parts."""

    def split(value: object) -> object:
        parts = re.split(pattern, value.strip()) if isinstance(value, str) else ()
        return [part for part in parts if part] if isinstance(value, str) else value

    return split


split_words = _split_at(r"[,\s]+")
split_paths = _split_at(":")  # as in PATH
split_globs = _split_at(r"\s*,\s*")


def split_kinds(value: object) -> object:
    """Convert a list or comma-separated text to one sorted, lower-case text."""
    found = split_words(value.lower() if isinstance(value, str) else value)
    return ",".join(sorted(map(str, found))) if isinstance(found, (list, tuple)) else found


def lower_case(value: object) -> object:
    """Convert a string to lower case without surrounding spaces; keep any other value."""
    return value.strip().lower() if isinstance(value, str) else value


def mutation_word(value: object) -> object:
    """Convert a mutation mode to lower case; the former value `strict` becomes `warn`."""
    word = lower_case(value)
    return "warn" if word == "strict" else word


def empty_for_none(value: str) -> str:
    """Convert `none` in any case to an empty value, which overrides a lower layer."""
    return "" if value.lower() == "none" else value


def store_place(value: str) -> str:
    """Validate the place of artifacts, a bucket or a folder; `none` becomes empty."""
    if "://" in value and not re.fullmatch(
        r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s?#]*)?", value
    ):
        raise ValueError("must be a folder, or s3://BUCKET/PREFIX without credentials or a query")
    return empty_for_none(value)


def absolute_path(value: str) -> str:
    """Accept an absolute path, or one below the home folder; `none` takes it back."""
    if not re.match(r"/|~/|none\Z", value) or ".." in value.split("/"):
        raise ValueError("must be an absolute path, or ~/PATH, without ..")
    return empty_for_none(value)


def call_rate(value: str) -> str:
    """Validate a rate of model calls; `none` clears a lower layer's value."""
    rate = empty_for_none(value.strip().lower())
    return str(parse_rate(rate)) if rate else ""


def _matching(pattern: str, rule: str) -> Callable[[str], str]:
    """Accept a text that matches, without the blanks around it."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value.strip()):
            raise ValueError(rule)
        return value.strip()

    return check


def _below(start: str, rule: str) -> Callable[[str], str]:
    """Accept a relative path, also with what it starts at."""

    def check(value: str) -> str:
        path = value.strip().removeprefix(start).rstrip("/")
        if not path or path.startswith("/") or ".." in path.split("/"):
            raise ValueError(rule)
        return path

    return check


variable_name = _matching(r"[A-Za-z_*][A-Za-z0-9_*]*", "must be names of environment variables")
exact_variable = _matching(
    r"[A-Za-z_][A-Za-z0-9_]*", "must be the name of one environment variable"
)
server_name = _matching(
    # It must fit between the underscores of `mcp__NAME__TOOL`.
    r"[A-Za-z0-9][A-Za-z0-9-]{0,31}",
    "must be at most 32 letters, digits and hyphens",
)
server_address = _matching(
    r"https?://[^\s/@]+(/[^\s]*)?", "must be a URL, such as http://127.0.0.1:8080/v1"
)
executor_name = _matching(r"(?!(inline|threads):)[a-z][a-z0-9_-]*(:\s*\S+)?", EXECUTORS)


def _registry(value: str) -> str:
    if mistake := hosts.wrong(value):
        raise ValueError(mistake)
    return hosts.normalize_entry(value)


def id_prefix(value: str) -> str:
    """Validate a prefix of task ids and return it without its hyphen."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value.removesuffix("-")):
        raise ValueError("must start with a letter and have only letters, digits and _")
    return value.removesuffix("-")


def _one_line(value: str) -> str:
    if "\0" in value or not value.strip():
        raise ValueError("must not be empty")
    return value.strip()


def receiver_address(value: str) -> str:
    """Validate the URL that notifications are posted to; `none` clears a lower layer's value."""
    address = empty_for_none(value.strip())
    if address and not (
        re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[!-~]*)?", address) and _has_place(address)
    ):
        raise ValueError("must be a URL without a password, such as https://example.org/hook")
    return address


def _has_place(address: str) -> bool:
    try:
        place = urlsplit(address)
        return bool(place.hostname) and place.port != 0
    except ValueError:  # `[::1`, a port of a million
        return False


def nats_address(value: str) -> str:
    """Validate NATS servers separated by commas; `none` clears a lower layer's value."""
    address = empty_for_none(value.strip())
    if address and not re.fullmatch(r"(?:(?:nats|tls|ws|wss)://[!-+\--~]+,?)+", address):
        raise ValueError("must be nats://HOST:4222 or tls://HOST:4222, separated by commas")
    return address.rstrip(",")


def tool_name(value: str) -> str:
    """Validate a tool name or a wildcard. Raises ValueError."""
    if not names_a_tool(value):
        raise ValueError(f"must be one of {', '.join(TOOLS)}, mcp__SERVER__TOOL, or a wildcard")
    return value


def rule_pattern(value: str) -> str:
    """Validate the pattern of a permission rule."""
    if value.startswith("!"):
        raise ValueError("must not begin with ! (to make an exception, add a later allow rule)")
    return _one_line(value)


def format_name(value: str) -> str:
    """Validate the name in `[REDACTED:name]`; names of built-in formats are rejected."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", value):
        raise ValueError("must be at most 40 lowercase letters, digits and hyphens")
    if any(value == shape.name for shape in load_rules.builtin_shapes()):
        raise ValueError("must not be the name of a built-in format")
    return value


def linear_expression(value: str) -> str:
    """Validate a linear-time (RE2) expression. Raises ValueError if it is invalid or too large."""
    try:
        compiled = patterns.linear(value)
    # raised by `linear`, whose Protocol does not know program sizes
    except re2.error as error:
        raise ValueError(f"must be a valid RE2 expression ({error})") from None
    if getattr(compiled, "programsize", 0) > _LARGEST_PROGRAM:
        raise ValueError("must be a smaller expression, with fewer repetitions")
    if compiled.groups > 1 or (compiled.groups and "(?P<value>" not in value):
        raise ValueError('must have at most one capturing group, named "value", around the secret')
    # A pattern that matches empty text matches everywhere: every file would contain secrets.
    if compiled.search(b"") is not None:
        raise ValueError("must not match an empty text")
    return value


def _size(value: str) -> str:
    if bytes_of(value) is None:
        raise ValueError("must be a number of bytes, optionally with the suffix k, m, g or t")
    return value.strip()


def _rate(value: str) -> str:
    if not value.strip().lower().endswith("/s") or bytes_of(value.strip()[:-2]) is None:
        raise ValueError("must be a size per second, such as 50MB/s")
    return value.strip()


def _amount(value: object) -> object:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Whole = Annotated[PositiveInt, BeforeValidator(no_switch)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86400), BeforeValidator(_seconds)]
Wait = Annotated[float, Field(ge=0, le=3600), BeforeValidator(_seconds)]
Percent = Annotated[float, Field(ge=0, le=100), BeforeValidator(_percent)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(no_switch)]
Line = Annotated[str, AfterValidator(_one_line)]
ModelName = Annotated[
    str,
    AfterValidator(_matching(r"[A-Za-z0-9][^\s]*", "must be a model name without spaces")),
]
HomePath = Annotated[str, AfterValidator(_below("~/", "must be paths below your home folder"))]
Folder = Annotated[str, AfterValidator(_below("./", "must be folders inside the project"))]
Size = Annotated[str, BeforeValidator(_amount), AfterValidator(_size)]
Rate = Annotated[str, AfterValidator(_rate)]
Names = Annotated[
    tuple[Annotated[str, AfterValidator(variable_name)], ...], BeforeValidator(split_words)
]
Hosts = Annotated[
    tuple[Annotated[str, AfterValidator(_registry)], ...], BeforeValidator(split_words)
]
Name = Annotated[str, AfterValidator(_one_line), AfterValidator(str.casefold)]
Had = Annotated[str, BeforeValidator(parse_supply)]
Review = Annotated[ReviewMode, BeforeValidator(lower_case)]
Reach = Annotated[Network, BeforeValidator(lower_case)]


def _verify_when(value: object) -> object:
    """Convert former booleans of `verify_at_end`: `true` becomes `all`, `false` becomes `never`."""
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


def _one_of(words: str, read: Any = lower_case) -> Any:
    """Return a type for one of the words separated by `|`."""
    literal: Any = Literal
    return Annotated[literal[tuple(words.split("|"))], BeforeValidator(read)]


def _many(kind: Any, split: Any) -> Any:
    """Return a tuple type whose text form `split` divides."""
    return Annotated[tuple[kind, ...], BeforeValidator(split)]


SHAPES: dict[str, Any] = {
    "bool": bool,
    "int": Whole,
    "float": Positive,
    "str": Line,
    "AbsolutePath": Annotated[str, AfterValidator(absolute_path)],
    "CallRate": Annotated[str, AfterValidator(call_rate)],
    "CheckpointCount": Annotated[int, Field(ge=3, le=5), BeforeValidator(no_switch)],
    "Compilers": dict[Line, Line],
    "ContractKinds": _one_of("api|api,data|none", split_kinds),
    "Endings": _many(Literal["done", "blocked", "waits", "regression", "stopped"], split_words),
    "EventDays": Annotated[int, Field(ge=7, le=90), BeforeValidator(no_switch)],
    "ExecutorName": Annotated[str, AfterValidator(executor_name)],
    "Factor": Annotated[float, Field(ge=0, le=100), BeforeValidator(no_switch)],
    "Folders": _many(Folder, split_paths),
    "Gates": Annotated[dict[Line, GateSetting], BeforeValidator(_flat_gates)],
    "Globs": _many(Line, split_globs),
    "HomePaths": _many(HomePath, split_paths),
    "Hosts": Hosts,
    "IdPrefixes": _many(Annotated[str, AfterValidator(id_prefix)], split_words),
    "Leases": dict[Annotated[str, AfterValidator(exact_variable)], Leased],
    "McpServers": dict[Annotated[str, AfterValidator(server_name)], McpServerSetting],
    "ModelName": ModelName,
    "ModelNames": _many(ModelName, split_words),
    "Mutation": _one_of("off|warn", mutation_word),
    "Names": Names,
    "NatsAddress": Annotated[str, AfterValidator(nats_address)],
    "OptionalLine": Annotated[Line, AfterValidator(empty_for_none)],
    "Paths": _many(Line, split_paths),
    "Percent": Percent,
    "Rate": Rate,
    "Reach": Reach,
    "ReceiverAddress": Annotated[str, AfterValidator(receiver_address)],
    "Review": Review,
    "Rules": tuple[Rule, ...],
    "Seconds": Seconds,
    "Wait": Wait,
    "SecretFormats": Annotated[tuple[SecretFormat, ...], Field(max_length=50)],
    "ServerAddress": Annotated[str, AfterValidator(server_address)],
    "Size": Size,
    "StorePlace": Annotated[Line, AfterValidator(store_place)],
    "Supplies": Annotated[dict[Name, Had], BeforeValidator(with_names)],
    "VariableName": Annotated[str, AfterValidator(variable_name)],
    "Verification": _one_of("changed|all|never", _verify_when),
    "WordList": _many(Line, split_words),
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
