"""Every command that a hint names can be typed: it exists, and so do its options.

The rule that makes it checkable: a command with words around it is in backticks.
"""

import re
import shlex

import pytest
from hint_texts import ANY, all_hints

from runner.commands.parser import make_parser
from runner.operations.table import find_operation

_SPAN = re.compile(r"`(runner(?: [^`]*)?)`")
_FREE = (f"runner {ANY}", f"runner team people {ANY}")
"""Where the command or its verb is known at run time."""
_BARE = re.compile(
    r"(?<![\w`./-])runner(?= )(?: (?!(?:or|then) )[^;,`()|]*?)(?=[;,|()]| or | then |$)"
)
_OPEN = ("< LIST", f"--{ANY}", "--help")
"""What a shell takes, or what names no value that could be read."""
_SENTENCE = re.compile(r"\b(?:the|another|of|this) runner\b|`")


def commands_in(text):
    """The commands of ours that a hint names."""
    yield from _SPAN.findall(text)
    if not _SENTENCE.search(text):
        yield from (found[0] for found in _BARE.finditer(text))


def parse(command):
    """Read a command line as the program does; raises RunnerError where it cannot."""
    is_help = command.endswith(" --help")
    for sign in _OPEN:
        command = command.replace(sign, "")
    words = shlex.split(command.replace(ANY, "TASK-001").replace("...", "…"))[1:]
    named = find_operation([*words, "--help"] if is_help else words, {})
    assert not named.renamed, f"a hint with an old name: {command}"
    if not is_help:
        make_parser(named.operation).parse_args(named.rest)


HINTS = [
    pytest.param(command, id=f"{place} {command}")
    for place, text in all_hints()
    for command in commands_in(text)
    if not command.startswith(_FREE)
]


@pytest.mark.parametrize("command", HINTS)
def test_a_command_of_a_hint_can_be_typed(command):
    parse(command)


def test_the_hints_are_found():
    assert len(HINTS) > 150
