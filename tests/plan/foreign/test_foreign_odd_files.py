"""Files of other tools as they come: odd, of 500 tasks, and as the tools write them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from runner.plan.foreign import find_form, read_foreign
from runner.plan.foreign.tasks import ForeignState, Form

SPEC_KIT = """\
# Tasks\r
\r
## Format: `[ID] [P?]`\r
- **[P]**: parallel\r
- [P] tasks = other files\r
```
- [ ] T900 an example
```
## Phase 1\r
* [X] **T001** [P] [US1] Bold\r
- [ ] T002: Colon\r
- [] T003 No space\r
  - [ ] T004 Below it
- [ ] TXXX No number
- [ ] T002 The same number
<!--
- [ ] T901
-->
"""
KIRO = """\
# Implementation Plan

- [x] 1. Group
  - [-] 1.1 Begun
    - words
    - _Requirements: 1.1, 2.3_
  - [ ]* 1.2 Optional
- [ ] 2 No dot
\t- [X] 2.1 Tab
"""
OPENSPEC = """\
## 1. First

- [x] 1.1 One
- [ ] 1.2 Two

## 2. Second
- [ ] Without a number
- [ ] 1.2 The same number
  - a detail
"""
BACKLOG = """\
---\r
id: TASK-3\r
title: 'It''s: odd'\r
status: Done # really\r
assignee: @ada\r
reporter: @bob o'hara\r
labels:\r
  - x\r
---\r
\r
## Acceptance Criteria\r
- [ ] one\r
"""
TASK_MASTER = """\
{
 "main": {"tasks": [{"id": "1", "title": "", "status": "weird"}], "metadata": {}},
 "later": {"tasks": [{"id": 1, "title": "T", "status": "done", "dependencies": null}]},
 "note": 3
}
"""
BEADS = """\
\r
{"id":"a-1","title":"T \\u2028 😀","status":"closed","dependencies":null}\r
\r
{"id":"a-2","title":"","status":"tombstone"}
{"id":"a-3","title":"x","priority":"P0"}
"""
ODD = {
    Form.SPEC_KIT: (
        SPEC_KIT,
        ["T001 done", "T002 open", "T004 open", "T003 open", "line 14 open", "line 15 open"],
    ),
    Form.KIRO: (KIRO, ["1.1 open", "1.2 open", "1 done", "2.1 done", "2 open"]),
    Form.OPENSPEC: (OPENSPEC, ["1.1 done", "1.2 open", "line 7 open", "line 8 open"]),
    Form.BACKLOG: (BACKLOG, ["task-3 done"]),
    Form.TASK_MASTER: (TASK_MASTER, ["main/1 open", "later/1 done"]),
    Form.BEADS: (BEADS, ["a-1 done", "a-2 dropped", "a-3 open"]),
}


def many(form, count=500):
    """A file of one form with many tasks; a file of Backlog.md holds one."""
    numbers = range(1, count + 1)
    match form:
        case Form.SPEC_KIT:
            return "".join(f"- [ ] T{n:03d} Do `src/f{n}.py`\n" for n in numbers)
        case Form.KIRO:
            rows = (f"- [ ] {n}. Do `f{n}.py`\n  - _Requirements: {n}.1_\n" for n in numbers)
            return "".join(rows)
        case Form.OPENSPEC:
            return "## 1. All\n\n" + "".join(f"- [ ] 1.{n} Do `f{n}.py`\n" for n in numbers)
        case Form.TASK_MASTER:
            tasks = [{"id": n, "title": f"t{n}", "status": "pending"} for n in numbers]
            return json.dumps({"tasks": tasks}, indent=2)
        case _:
            rows = [{"id": f"a-{n}", "title": f"t{n}", "status": "open"} for n in numbers]
            return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("form", ODD)
def test_every_task_of_an_odd_file_is_found(form):
    text, expected = ODD[form]
    assert find_form(text) == form
    assert [f"{one.key} {one.state}" for one in read_foreign(text, form).tasks] == expected


@pytest.mark.parametrize("form", [one for one in ODD if one is not Form.BACKLOG])
def test_of_five_hundred_a_mark_changes_its_own_characters_alone(form):
    text = many(form)
    assert find_form(text) == form
    tasks = read_foreign(text, form).tasks
    assert len(tasks) == 500
    mark = tasks[250].mark
    edited = text[: mark.start] + mark.done + text[mark.end :]
    again = read_foreign(edited, form).tasks
    assert [one.key for one in again] == [one.key for one in tasks]
    assert [one.key for one in again if one.state is ForeignState.DONE] == [tasks[250].key]


# --- files that the tools themselves write -----------------------------------------------


def tool(name):
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH")
    return found


def ran(folder, *words):
    home = {"HOME": str(folder), "BACKLOG_CWD": str(folder), "NO_COLOR": "1"}
    subprocess.run(
        words, cwd=folder, env={**os.environ, **home}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=180, check=True,
    )  # fmt: skip


def test_what_backlog_md_writes_is_read_task_by_task(tmp_path):
    backlog = tool("backlog")
    ran(tmp_path, "git", "init", "-q")
    for words in (
        ("init", "Shop", "--defaults"),
        ("task", "create", "Write: it", "-d", "In `src/x.py`", "--ac", "works"),
        ("task", "create", "Send it", "--dep", "task-1"),
        ("task", "create", "A part", "-p", "task-1"),
        ("task", "edit", "2", "-s", "Done"),
    ):  # fmt: skip
        ran(tmp_path, backlog, *words)
    files = sorted((tmp_path / "backlog/tasks").iterdir())
    texts = [one.read_text() for one in files]
    assert [find_form(text) for text in texts] == [Form.BACKLOG] * 3
    tasks = {one.key: one for text in texts for one in read_foreign(text, Form.BACKLOG).tasks}
    assert {key: (one.title, one.state) for key, one in tasks.items()} == {
        "task-1": ("Write: it", ForeignState.OPEN),
        "task-1.1": ("A part", ForeignState.OPEN),
        "task-2": ("Send it", ForeignState.DONE),
    }
    assert tasks["task-2"].needs == ("task-1",)
    assert (tasks["task-1"].acceptance, tasks["task-1"].paths) == (("works",), ("src/x.py",))


def test_the_template_that_spec_kit_installs_is_read_task_by_task(tmp_path):
    specify = tool("specify")
    words = ("init", "--here", "--integration", "claude", "--force", "--ignore-agent-tools")
    ran(tmp_path, specify, *words)
    text = (tmp_path / ".specify/templates/tasks-template.md").read_text()
    keys = [one.key for one in read_foreign(text, find_form(text)).tasks]
    assert find_form(text) == Form.SPEC_KIT
    assert keys[:28] == [f"T{number:03d}" for number in range(1, 29)]
    assert len(keys) == sum("- [ ] T" in line for line in text.splitlines())


def test_the_template_of_openspec_is_read_task_by_task():
    place = Path(tool("openspec")).resolve().parents[1]
    text = (place / "schemas/spec-driven/templates/tasks.md").read_text()
    assert find_form(text) == Form.OPENSPEC
    assert [one.key for one in read_foreign(text, Form.OPENSPEC).tasks] == [
        "1.1",
        "1.2",
        "2.1",
        "2.2",
    ]
