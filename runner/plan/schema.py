"""What a task's fields must be: the border where text from the file becomes typed values.

pydantic is imported when a section is read, never before: a cached plan does without it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from runner.model import (
    Budget,
    Contract,
    GateSpec,
    Network,
    Requirement,
    Resource,
    ReviewMode,
    Status,
    TestContract,
)
from runner.plan import proofs, values
from runner.plan.values import BadValueError, Complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import TypeAdapter, ValidationError
    from pydantic.functional_validators import BeforeValidator

    from runner.plan.fields import Field


class Surroundings(NamedTuple):
    """What a value cannot know of itself: prefixes of ids, and the line its section begins at."""

    prefixes: tuple[str, ...]
    first_line: int


class Validated(NamedTuple):
    """The typed values of the good fields by key, and what is wrong with the others."""

    values: dict[str, object]
    complaints: tuple[Complaint, ...]


def validate(fields: Mapping[str, Field], around: Surroundings) -> Validated:
    """Fields by key, each with its type in the model; bad ones are left out and complained of."""
    from pydantic import ValidationError

    try:
        return Validated(_adapter().validate_python(fields, context=around), ())
    except ValidationError as error:
        bad, complaints = _complaints(error)
        good = {key: field for key, field in fields.items() if key not in bad}
        return Validated(validate(good, around).values, complaints)


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
    """Reads a plain dict: of a model, the fields that are not given would be made each time."""
    from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationInfo, with_config
    from typing_extensions import TypedDict  # pydantic wants it below Python 3.12, and brings it

    def by(read: Callable[[Field], object]) -> BeforeValidator:
        return BeforeValidator(read)

    def within(read: Callable[[Field, Surroundings], object]) -> BeforeValidator:
        def reader(field: Field, info: ValidationInfo) -> object:
            return read(field, cast("Surroundings", info.context))

        return BeforeValidator(reader)

    texts = by(values.texts)

    @with_config(ConfigDict(extra="forbid"))
    class TaskFields(TypedDict, total=False):
        """A task's fields, as FORMATS lists them."""

        status: Annotated[tuple[Status, str], by(values.status)]
        type: Annotated[str, by(values.word)]
        depends_on: Annotated[
            tuple[str, ...], within(lambda field, around: values.ids(field, around.prefixes))
        ]
        outputs: Annotated[tuple[str, ...], by(values.outputs)]
        inputs: Annotated[tuple[str, ...], by(values.paths)]
        acceptance: Annotated[tuple[str, ...], by(values.sentences)]
        changes_tests: Annotated[tuple[str, ...], texts]
        test_contracts: Annotated[
            tuple[TestContract, ...],
            within(lambda field, around: proofs.test_contracts(field, around.first_line)),
        ]
        contracts: Annotated[
            tuple[Contract, ...],
            within(lambda field, around: proofs.contracts(field, around.first_line)),
        ]
        gates: Annotated[
            tuple[GateSpec, ...],
            within(lambda field, around: proofs.gates(field, around.first_line)),
        ]
        coverage: Annotated[float | None, by(values.percent)]
        implementer: Annotated[str, by(values.word)]
        command: Annotated[str, by(values.command)]
        red_first: Annotated[bool | None, by(values.yes_or_no)]
        uses: Annotated[tuple[Resource, ...], by(values.resources)]
        network: Annotated[Network, by(values.network)]
        timeout: Annotated[float | None, by(values.duration)]
        keywords: Annotated[tuple[str, ...], texts]
        stack: Annotated[tuple[str, ...], texts]
        patterns: Annotated[tuple[str, ...], texts]
        requires: Annotated[tuple[Requirement, ...], by(values.requirements)]
        budget: Annotated[Budget, by(values.budget)]
        review: Annotated[ReviewMode | None, by(values.review)]
        no_proof: Annotated[str, by(proofs.no_proof)]
        priority: Annotated[int | None, by(values.priority)]
        source: Annotated[str, by(values.name)]

    return cast("TypeAdapter[dict[str, object]]", TypeAdapter(TaskFields))
