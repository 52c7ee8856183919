"""Run the example of each page, as its reader would type it."""

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workplaces import SETUPS, Workplace

from runner.commands.parser import make_parser
from runner.operations.table import find_operation

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for folder in ("start", "guides", "explanation")
    for path in (ROOT / "docs" / folder).glob("*.md")
)
EXAMPLE = re.compile(
    r"^<!-- example: (?P<setup>[\w-]+) -->\n(?P<fence>`{3,})sh\n(?P<lines>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Example(NamedTuple):
    """The lines of a page that a test runs, and what has to be there before."""

    page: str
    setup: str
    lines: str


def examples(page: Path) -> list[Example]:
    found = EXAMPLE.finditer(page.read_text())
    return [Example(page.stem, one["setup"], one["lines"]) for one in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_its_purpose_and_has_an_example(page):
    first = page.read_text().split("\n\n")[1]
    assert first.startswith("After this page you ")
    assert examples(page)


def commands(lines: str) -> list[list[str]]:
    """Return the words behind `runner` of each command that an example types."""
    parts = re.split(r"\n|\|\|?|&&?|;", lines)
    words = [shlex.split(re.sub(r"[<>].*", "", part), comments=True) for part in parts]
    return [some[some.index("runner") + 1 :] for some in words if "runner" in some]


def test_an_example_types_commands_and_flags_that_there_are():
    typed = [words for page in PAGES for one in examples(page) for words in commands(one.lines)]
    assert len(typed) > len(PAGES)
    for words in typed:
        named = find_operation(words, {})
        own = [*named.rest, "--"][: [*named.rest, "--"].index("--")]
        make_parser(named.operation).parse_args(own)


@pytest.mark.nightly(
    sibling="tests/docs/test_docs_examples.py::test_an_example_types_commands_and_flags_that_there_are"
)
@pytest.mark.parametrize(
    "example",
    [one for page in PAGES for one in examples(page)],
    ids=lambda one: f"{one.page}-{one.setup}",
)
def test_an_example_does_what_its_page_says(example, tmp_path):
    place = Workplace(tmp_path)
    SETUPS[example.setup](place)
    done = place.type(example.lines)
    assert done.returncode == 0, f"{example.lines}\n{done.stdout}\n{done.stderr}"
