"""What a change does besides its task is found from both trees, and honest work is left alone."""

import tomllib
from pathlib import Path

import pytest

from runner.gates.test_paths import is_test_path
from runner.model import Action, Change, Spec, Task
from runner.surface import facts_of

ROWS = tomllib.loads((Path(__file__).parent / "seeded_changes.toml").read_text())
SEEDED = {row["name"]: row for row in ROWS["seeded"]}
HONEST = {row["name"]: row for row in ROWS["honest"]}


def changed(row):
    """The files of a row's project, and the same files with its change."""
    before = ROWS["projects"][row["project"]]
    after = {**before, **row.get("files", {})}
    for path, old, new in row.get("edits", ()):
        assert old in after[path]
        after[path] = after[path].replace(old, new)
    return before, {path: text for path, text in after.items() if text != []}


def find(before, after, **task):
    before, after = ({path: text.encode() for path, text in one.items()} for one in (before, after))
    return facts_of(
        Task(id="TASK-001", title="T", line=1, spec=Spec("w", "p"), **task),
        [
            Change(path, Action.MODIFY, 0o100644, None, None, after.get(path))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        ],
        before.get,
        is_test=is_test_path,
        read_files=after.items,
    )


@pytest.mark.parametrize("name", SEEDED)
def test_what_a_change_takes_from_others_is_one_fact(name):
    row = SEEDED[name]
    facts = find(*changed(row))
    said = [one.asks for one in facts if row["says"] in one.message]
    assert said == [row.get("asks", True)], facts
    assert sum(one.asks for one in facts) == sum(said), facts


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_asked_nothing(name):
    assert [one for one in find(*changed(HONEST[name])) if one.asks] == []
