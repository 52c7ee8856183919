"""The tools an assistant is given: each is an operation of the table, called with `--json`.

None answers for a person: a tool only reports what waits for a review. A tool's arguments become
words of a command line, never options: each is checked against its schema first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.operations import json_schema
from runner.operations.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.operations.row import Field


class ServedTool(NamedTuple):
    """One tool: what it is called, what it takes, and how its command line begins."""

    name: str
    description: str
    fields: Mapping[str, Field]
    begins: tuple[str, ...]
    changes: bool
    """Whether it has something built, rather than read."""

    def document(self) -> dict[str, object]:
        """Return the tool as `tools/list` gives it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                **json_schema.describe_input(self.fields),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": not self.changes,
                "destructiveHint": False,
                "idempotentHint": not self.changes,
                "openWorldHint": False,
            },
        }

    def check(self, arguments: object) -> Mapping[str, object]:
        """Return the arguments, if the tool takes them. Raises InputError."""
        return json_schema.check_input(self.name, self.fields, arguments)

    def words(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the command line that answers."""
        given = [(self.fields[name], value) for name, value in arguments.items()]
        options = [one for field, value in given if field.flags for one in _option(field, value)]
        places = [one for field, value in given if not field.flags for one in _values(value)]
        return [*self.begins, "--json", *options, *(["--", *places] if places else [])]


def _option(field: Field, value: object) -> Iterator[str]:
    if field.kind is bool:
        yield from [field.flags[-1]] if value else []
    else:
        yield from (f"{field.flags[-1]}={one}" for one in _values(value))


def _values(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


TOOLS = {
    tool.name: ServedTool(
        tool.name,
        tool.description,
        json_schema.choose_fields(row, tool.fields),
        tool.words or tuple(row.name.split()),
        tool.effects != "reads",
    )
    for row in TABLE.values()
    for tool in row.tools
}
