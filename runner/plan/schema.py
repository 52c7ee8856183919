"""Validate a task's fields: text from the file becomes typed values.

pydantic is imported when a section is read, never before: a cached plan does without it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias, cast

from runner.lazy_pattern import regex
from runner.model import (
    AcceptanceItem,
    Budget,
    Contract,
    GateSpec,
    HeldOutFile,
    Network,
    Requirement,
    Resource,
    ReviewMode,
    Status,
    TestContract,
)
from runner.plan import proofs, values
from runner.plan.markdown_text import EMPTY_WORDS, plain
from runner.plan.values import BadValueError, Complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import TypeAdapter, ValidationError
    from pydantic.functional_validators import BeforeValidator

    from runner.plan.fields import PlanField

_FILE = regex(
    r"(?P<tick>`?)(?P<path>[^`\s]+|(?<=`)[^`]+)(?P=tick)\s+`?(?P<digest>sha256:[0-9a-f]{64})`?"
)
GRADES = ("tests", "independent")
"""Allowed values of `Assurance`."""
_HINT = "write `path` sha256:DIGEST; `runner hold-out TASK FILE` writes this line"


def read_acceptance(field: PlanField) -> tuple[str, ...]:
    """Return the sentences as they are written; raise BadValueError where two have one id."""
    found = values.sentences(field)
    ids = [item.id for item in map(AcceptanceItem.parse, found) if item.id]
    for id_ in ids:
        if ids.count(id_) > 1:
            message = f"duplicate acceptance id {id_}"
            raise values.complain(field, message, "give each item its own id")
    return found


def read_assurance(field: PlanField) -> str:
    """Return the lowest grade of a task; raise BadValueError for a word that is none."""
    found = values.word(field)
    if found not in ("", *GRADES):
        raise values.complain(field, f'unknown assurance "{found}"', f"write {' or '.join(GRADES)}")
    return found


def read_files(field: PlanField) -> tuple[HeldOutFile, ...]:
    """Return the files of the field, one an item; raise BadValueError with all complaints."""
    found: dict[str, HeldOutFile] = {}
    bad: list[Complaint] = []
    for value in field.values:
        if plain(value.text).casefold() in EMPTY_WORDS:
            continue
        match = _FILE.fullmatch(value.text.strip())
        path = match["path"].removeprefix("./") if match else ""
        if fault := _fault(path) if match else (f'bad held-out file "{value.text}"', _HINT):
            run = value.runs[0]
            bad.append(Complaint(*fault, run.line, run.column, max(1, len(run.text))))
        elif match and path in found:
            run = value.runs[0]
            message = f'"{path}" is listed twice'
            bad.append(Complaint(message, "keep one of the two lines", run.line, run.column, 1))
        elif match:
            found[path] = HeldOutFile(path, match["digest"])
    if bad:
        raise BadValueError(*bad)
    return tuple(found.values())


def _fault(path: str) -> tuple[str, str] | None:
    """Return why a path cannot be a held-out file, and a remedy; None if it can."""
    if path.endswith("/"):
        return f'held-out file "{path}" is a folder', "list each of its files on its own line"
    if "*" in path or "?" in path:
        return f'held-out file "{path}" is a glob', "list each file on its own line"
    return values.path_complaint(path)


class Surroundings(NamedTuple):
    """The context of a value: prefixes of ids, and the line where its section begins."""

    prefixes: tuple[str, ...]
    first_line: int


Read: TypeAlias = "Callable[[PlanField, Surroundings], object]"


def _by(read: Callable[[PlanField], object]) -> Read:
    return lambda field, _: read(field)


_texts = _by(values.texts)
READERS: Mapping[str, Read] = {
    "status": _by(values.status),
    "type": _by(values.word),
    "depends_on": lambda field, around: values.ids(field, around.prefixes),
    "outputs": _by(values.outputs),
    "inputs": _by(values.paths),
    "acceptance": _by(read_acceptance),
    "changes_tests": _texts,
    "test_contracts": lambda field, around: proofs.test_contracts(field, around.first_line),
    "held_out_files": _by(read_files),
    "test_author": _by(values.word),
    "assurance": _by(read_assurance),
    "contracts": lambda field, around: proofs.contracts(field, around.first_line),
    "gates": lambda field, around: proofs.gates(field, around.first_line),
    "coverage": _by(values.percent),
    "implementer": _by(values.word),
    "command": _by(values.command),
    "red_first": _by(values.yes_or_no),
    "uses": _by(values.resources),
    "network": _by(values.network),
    "timeout": _by(values.duration),
    "keywords": _texts,
    "stack": _texts,
    "patterns": _texts,
    "requires": _by(values.requirements),
    "budget": _by(values.budget),
    "review": _by(values.review),
    "no_proof": _by(proofs.no_proof),
    "priority": _by(values.priority),
    "source": _by(values.name),
    "model": _by(values.model),
}
"""By field key, the function that parses its text; raises BadValueError."""


class Validated(NamedTuple):
    """The typed values of the good fields by key, and what is wrong with the others."""

    values: dict[str, object]
    complaints: tuple[Complaint, ...]


def validate(fields: Mapping[str, PlanField], around: Surroundings) -> Validated:
    """Return the typed values of valid fields, and the complaints about invalid ones.

    Where all are good, what reads them is enough: a property test holds it equal to the schema,
    which is asked of everything else. Importing it takes longer than a small plan.
    """
    try:
        return Validated({key: READERS[key](field, around) for key, field in fields.items()}, ())
    except (BadValueError, KeyError):
        return validate_by_schema(fields, around)


def validate_by_schema(fields: Mapping[str, PlanField], around: Surroundings) -> Validated:
    """Validate fields by the schema; return the valid values and the problems."""
    from pydantic import ValidationError

    try:
        return Validated(_adapter().validate_python(fields, context=around), ())
    except ValidationError as error:
        bad, complaints = _complaints(error)
        good = {key: field for key, field in fields.items() if key not in bad}
        return Validated(validate_by_schema(good, around).values, complaints)


def _complaints(error: ValidationError) -> tuple[set[str], tuple[Complaint, ...]]:
    keys: set[str] = set()
    complaints: list[Complaint] = []
    for detail in error.errors(include_url=False, include_input=False):
        cause = detail["ctx"]["error"]
        if not isinstance(cause, BadValueError):
            raise cause
        keys.add(str(detail["loc"][0]))
        complaints.extend(cause.complaints)
    return keys, tuple(complaints)


@cache
def _adapter() -> TypeAdapter[dict[str, object]]:
    """Return the validator of a plain dict, which creates no values for missing fields."""
    from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationInfo, with_config
    from typing_extensions import TypedDict  # pydantic wants it below Python 3.12, and brings it

    def by(key: str) -> BeforeValidator:
        read = READERS[key]

        def reader(field: PlanField, info: ValidationInfo) -> object:
            return read(field, cast("Surroundings", info.context))

        return BeforeValidator(reader)

    @with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True))
    class TaskFields(TypedDict, total=False):
        """A task's fields, as FORMATS lists them."""

        status: Annotated[tuple[Status, str], by("status")]
        type: Annotated[str, by("type")]
        depends_on: Annotated[tuple[str, ...], by("depends_on")]
        outputs: Annotated[tuple[str, ...], by("outputs")]
        inputs: Annotated[tuple[str, ...], by("inputs")]
        acceptance: Annotated[tuple[str, ...], by("acceptance")]
        changes_tests: Annotated[tuple[str, ...], by("changes_tests")]
        test_contracts: Annotated[tuple[TestContract, ...], by("test_contracts")]
        held_out_files: Annotated[tuple[HeldOutFile, ...], by("held_out_files")]
        test_author: Annotated[str, by("test_author")]
        assurance: Annotated[str, by("assurance")]
        contracts: Annotated[tuple[Contract, ...], by("contracts")]
        gates: Annotated[tuple[GateSpec, ...], by("gates")]
        coverage: Annotated[float | None, by("coverage")]
        implementer: Annotated[str, by("implementer")]
        command: Annotated[str, by("command")]
        red_first: Annotated[bool | None, by("red_first")]
        uses: Annotated[tuple[Resource, ...], by("uses")]
        network: Annotated[Network, by("network")]
        timeout: Annotated[float | None, by("timeout")]
        keywords: Annotated[tuple[str, ...], by("keywords")]
        stack: Annotated[tuple[str, ...], by("stack")]
        patterns: Annotated[tuple[str, ...], by("patterns")]
        requires: Annotated[tuple[Requirement, ...], by("requires")]
        budget: Annotated[Budget, by("budget")]
        review: Annotated[ReviewMode | None, by("review")]
        no_proof: Annotated[str, by("no_proof")]
        priority: Annotated[int | None, by("priority")]
        source: Annotated[str, by("source")]
        model: Annotated[str, by("model")]

    return cast("TypeAdapter[dict[str, object]]", TypeAdapter(TaskFields))
