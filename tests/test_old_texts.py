"""Texts that were replaced by plain ones must not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OLD = (
    "You write a plan, `TASK-GRAPH.md`",
    "task after task in dependency order",
    "the statuses in the plan tell the truth",
    "of the long ones an eighth",
    "two of them green alone and red together",
    "folder you stand in for the program",
    "The tree is asked what changed",
    "where the same bytes would come again",
    "keep their files in memory where some can be mounted",
    "has what stands where",
    "fields of a task follow this heading",
    "and is not read as it",
    "take back its indent",
    "goes on with the numbers of the tasks",
    "is only an example as it is written",
    "which no task is",
    "is already on line",
    "tasks wait for each other in a circle",
    "is no duration",
    "what only waits is Type: milestone",
    "plans did not do",
    "came to the same files",
    "mend the plan",
    "not seen by tasks",
    "nobody reviews writes",
    "is DONE again and none of its files changed",
    "as before the change, first seen red",
    "it changed files of the tree",
    "s were estimated, at best",
    "proof alone, on the branch as it is now",
    "not finished by this run",
    "those behind it are only proven again",
    "build it anew, only",
    "this change, these very bytes",
    "keeping the books",
    "does not wait for you",
    "a person has to say yes",
    "the head of now is kept as",
    "a person is needed",
    "somebody's work or the plan moved",
    "it is meant: DONE tasks gone",
    "failures of before a change refuse it",
    "tells what a statement of a proof says",
    "what the secret scan lets pass",
    "nothing stands in the way",
    "what is kept of one plan's tasks",
    "bytes that nothing ran are a wish",
    "There is no mode for that",
)
PLACES = ("runner/**/*.py", "runner/**/*.md", "runner/**/*.html", "README.md", "docs/**/*.md")


def prose(path):
    """Return a file's text as one line, with string literals joined that stand below each other."""
    text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
    return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def texts():
    paths = {path for place in PLACES for path in ROOT.glob(place)}
    return {path.relative_to(ROOT).as_posix(): prose(path) for path in sorted(paths)}


@pytest.mark.parametrize("old", OLD)
def test_an_old_text_is_nowhere(old, texts):
    assert [path for path, text in texts.items() if old in text] == []
