"""Build the argument parser of a command from its operation."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.operations.table import children, find_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.operations.row import Field, Operation


class Parser(argparse.ArgumentParser):
    """A parser whose errors are RunnerErrors."""

    def error(self, message: str) -> None:  # type: ignore[override]  # never returns
        """Raise RunnerError with the help of this command as hint."""
        raise RunnerError(message, hint=f"{self.prog} --help")


def make_parser(operation: Operation, width: int | None = None) -> Parser:
    """Return the parser of an operation; `width` of its help, None for the terminal's."""
    parser = Parser(
        prog=f"runner {operation.name}",
        description=operation.summary[0].upper() + operation.summary[1:] + ".",
        epilog=operation.examples or _list_children(operation),
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=width),
        allow_abbrev=False,
    )
    add_fields(parser, operation.fields)
    parser.set_defaults(called=operation.name)
    command = next((one for one in operation.fields if one.times == "--"), None)
    if command is not None:
        parser.set_defaults(**{command.name: ()})
        usage = parser.format_usage().removeprefix("usage: ").rstrip()
        parser.usage = f"{usage} [-- {command.metavar}]".replace("%", "%%")
    return parser


def add_fields(parser: argparse.ArgumentParser, fields: tuple[Field, ...]) -> None:
    """Add what the table says that a command takes."""
    places: dict[tuple[str, str], argparse._ActionsContainer] = {}
    for one in fields:
        if one.times == "--":
            continue
        place: argparse._ActionsContainer = parser
        if one.group:
            place = places.get((one.group, "")) or parser.add_argument_group(one.group)
            places[one.group, ""] = place
        if one.either:
            group = places.get((one.group, one.either)) or place.add_mutually_exclusive_group()
            places[one.group, one.either] = place = group
        _add(place, one)


def _add(place: argparse._ActionsContainer, one: Field) -> None:
    text = one.help.replace("%", "%%") if one.shown else argparse.SUPPRESS
    if one.kind is bool:
        if one.const:
            place.add_argument(
                *one.flags, action="store_const", const=one.const, dest=one.name, help=text
            )
        else:
            place.add_argument(*one.flags, action="store_true", dest=one.name, help=text)
        return
    known: dict[str, object] = {"help": text, "default": one.default}
    if one.flags:
        known |= {"dest": one.name, "required": one.needed}
    if one.times == "again":
        known |= {"action": "append", "default": []}
    elif one.times:
        known["nargs"] = one.times
    if one.const:
        known["const"] = one.const
    if one.kind is not str:
        known["type"] = one.kind
    if one.metavar:
        known["metavar"] = one.metavar
    if one.choices:
        known["choices"] = one.choices
    place.add_argument(*(one.flags or (one.name,)), **known)  # type: ignore[arg-type]


def _list_children(operation: Operation) -> str:
    """Return the commands below a name that stands for several."""
    rows = [(f"runner {row.name}", row.summary) for row in children(operation.name)]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(("commands:", *(f"  {name:<{width}}  {text}" for name, text in rows)))


def load_command(
    operation: Operation,
) -> Callable[[argparse.Namespace, Mapping[str, str]], int]:
    """Return what carries an operation out: an extension, if one of its flags is given."""
    groups = [load(one.execute) for one in find_flags(operation.name)]

    def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> int:
        for group in groups:
            code = group(given, environ)
            if code is not None:
                return int(code)
        return int(load(operation.does)(given, environ))

    return execute
