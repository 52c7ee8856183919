"""Files of other tools: each is told by its shape, and every task a person sees is found."""

import json

import pytest

from runner.errors import RunnerError
from runner.plan.foreign import find_form, read_foreign
from runner.plan.foreign.tasks import ForeignState, Form, paths_in
from runner.plan.foreign.trackers import parent_of

SPEC_KIT = """# Tasks: Bookings

## Phase 1: Setup (Shared Infrastructure)

- [x] T001 Create the folders
- [ ] T002 [P] Configure linting in `pyproject.toml`
- [ ] T003 [P] Configure formatting

## Phase 2: User Story 1

- [ ] T004 [P] [US1] Contract test in tests/contract/test_export.py
- [ ] T005 [US1] Implement it in src/services/export.py (depends on T002, T004)
- [ ] T006 [US1] Tell of it

## Dependencies & Execution Order

- T006 depends on T001-T003
- T002 before T005
- Nobody knows what T999 was

```
- [ ] T900 is an example
```
"""
KIRO = """# Implementation Plan

- [ ] 1. Set up the project
  - Create folders
  - _Requirements: 1.1, 1.2_

- [-] 2. Models
  - [x] 2.1 Create `src/user.ts`
    - validate it
    - _Requirements: 2.1_
  - [ ]* 2.2 Write tests
- [ ] 3. Wire it
"""
OPENSPEC = """## 1. Data

- [x] 1.1 Add the column
- [ ] 1.2 Fill `db/seed.sql`

## 2. Page

- [ ] 2.1 Show it
"""
CHECKLIST = "# To do\n\n- [ ] Eat\n  - [ ] bread\n  - [x] soup\n* [x] Drink\n1. [ ] Sleep\n"


def keys(plan):
    return [(one.key, one.needs) for one in plan.tasks]


def marks(text, plan):
    return [text[one.mark.start : one.mark.end] for one in plan.tasks]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (SPEC_KIT, Form.SPEC_KIT),
        (KIRO, Form.KIRO),
        (OPENSPEC, Form.OPENSPEC),
        (CHECKLIST, Form.CHECKLIST),
        ('{"tasks": []}', Form.TASK_MASTER),
        ('{"master": {"tasks": [{"id": 1, "title": "x"}]}}', Form.TASK_MASTER),
        ('{"id": "a-1", "title": "x"}\n', Form.BEADS),
        ("---\nid: task-1\ntitle: x\nstatus: Done\n---\n", Form.BACKLOG),
        ("# Prose\n\nand nothing else\n", None),
        ("{", None),
        ("", None),
    ],
)
def test_a_form_is_told_by_its_shape(text, form):
    assert find_form(text) is form


def test_phases_follow_each_other_and_p_frees_what_is_in_one():
    plan = read_foreign(SPEC_KIT, Form.SPEC_KIT)
    assert keys(plan) == [
        ("T001", ()),
        ("T002", ("T001",)),
        ("T003", ("T001",)),
        ("T004", ("T002", "T003")),
        ("T005", ("T004", "T002")),
        ("T006", ("T005", "T001", "T002", "T003")),
    ]
    assert plan.tasks[0].state is ForeignState.DONE
    assert [one.title for one in plan.tasks[1:5:3]] == [
        "Configure linting in `pyproject.toml`",
        "Implement it in src/services/export.py",
    ]
    assert plan.tasks[1].paths == ("pyproject.toml",)
    assert plan.tasks[3].paths == ("tests/contract/test_export.py",)
    assert plan.tasks[3].keywords == ("US1",)
    assert plan.left == ((19, "- Nobody knows what T999 was"),)
    assert marks(SPEC_KIT, plan) == ["x", " ", " ", " ", " ", " "]


def test_remarks_comments_and_items_without_words_are_no_tasks_and_no_loss():
    text = "<!--\n- [ ] 1.1 hidden\n-->\n- [ ] 1.2 <!-- to come -->\n\n- [P] free\n- [ ] 1.3 Real\n"
    plan = read_foreign(text, Form.OPENSPEC)
    assert [(one.key, one.title) for one in plan.tasks] == [("1.2", "1.2"), ("1.3", "Real")]


def test_numbered_items_below_another_are_tasks_that_it_rests_on():
    plan = read_foreign(KIRO, Form.KIRO)
    assert keys(plan) == [
        ("1", ()),
        ("2.1", ("1",)),
        ("2.2", ("2.1",)),
        ("2", ("2.1", "2.2")),
        ("3", ("2",)),
    ]
    assert [one.is_group for one in plan.tasks] == [False, False, False, True, False]
    assert plan.tasks[0].acceptance == ("Create folders", "Requirements: 1.1, 1.2")
    assert plan.tasks[1].acceptance == ("validate it", "Requirements: 2.1")
    assert plan.tasks[2].keywords == ("optional",)
    assert marks(KIRO, plan) == [" ", "x", " ", "-", " "]


def test_groups_of_openspec_follow_each_other():
    plan = read_foreign(OPENSPEC, Form.OPENSPEC)
    assert keys(plan) == [("1.1", ()), ("1.2", ("1.1",)), ("2.1", ("1.2",))]
    assert plan.tasks[1].paths == ("db/seed.sql",)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_items_of_a_plain_list_have_those_below_them_as_criteria(end):
    text = CHECKLIST.replace("\n", end)
    plan = read_foreign(text, Form.CHECKLIST)
    assert [(one.title, one.line) for one in plan.tasks] == [("Eat", 3), ("Drink", 6), ("Sleep", 7)]
    assert plan.tasks[0].acceptance == ("bread", "soup")
    assert marks(text, plan) == [" ", "x", " "]


def test_a_list_of_task_master_has_all_tags_and_its_sub_tasks_as_criteria():
    one = {"id": 1, "title": "Begin", "status": "done", "priority": "high", "dependencies": []}
    two = {
        "id": 2,
        "title": 'Go "on"',
        "status": "in-progress",
        "dependencies": [1, "1.2", 2],
        "details": "write `src/a.py`",
        "testStrategy": "by hand",
        "subtasks": [{"id": 1, "title": "First"}],
    }
    for_other = {"id": 1, "title": "Apart", "status": "cancelled"}
    document = {"master": {"tasks": [one, two]}, "other": {"tasks": [for_other]}}
    text = json.dumps(document, indent=2)
    plan = read_foreign(text, Form.TASK_MASTER)
    assert keys(plan) == [("1", ()), ("2", ("1",)), ("other/1", ())]
    assert [one.state for one in plan.tasks] == [
        ForeignState.DONE,
        ForeignState.OPEN,
        ForeignState.DROPPED,
    ]
    assert marks(text, plan) == ["done", "in-progress", "cancelled"]
    assert plan.tasks[1].title == 'Go "on"'
    assert plan.tasks[1].acceptance == ("First",)
    assert plan.tasks[1].prose == "write `src/a.py`\n\nTest strategy: by hand"
    assert plan.tasks[0].priority == "high"
    line = text.splitlines()[plan.tasks[1].line - 1]
    assert line.strip() == "{"


@pytest.mark.parametrize("text", ['{"tasks": [', '{"tasks" [1]}', '{"tasks": [1 2]}', "[" * 99])
def test_what_is_no_json_is_told(text):
    with pytest.raises(RunnerError, match="not valid JSON"):
        read_foreign(text, Form.TASK_MASTER)


def test_issues_of_beads_need_what_blocks_them_and_epics_their_children():
    rows = [
        {"id": "a-1", "title": "All", "status": "open", "issue_type": "epic", "priority": 0},
        {
            "id": "a-2",
            "title": "Part",
            "status": "closed",
            "acceptance_criteria": "- [ ] works\n- fast",
            "dependencies": [
                {"depends_on_id": "a-1", "type": "parent-child"},
                {"depends_on_id": "a-3", "type": "blocks"},
                {"depends_on_id": "a-4", "type": "related"},
            ],
        },
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + "no json\n[1]\n"
    plan = read_foreign(text, Form.BEADS)
    assert keys(plan) == [("a-1", ("a-2",)), ("a-2", ("a-3",))]
    assert [one.is_group for one in plan.tasks] == [True, False]
    assert plan.tasks[0].priority == "critical"
    assert plan.tasks[1].acceptance == ("works", "fast")
    assert plan.left == ((2, "a-2 related a-4"), (3, "is not valid JSON"), (4, "is not an issue"))
    assert marks(text, plan) == ["open", "closed"]


BACKLOG = """---
id: task-7.1
title: "Login: page"
status: 'To Do'
labels: [web]
dependencies: [task-2, TASK-3]
priority: low
parent_task_id: task-7
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Write `src/x.py`.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 works
- [x] #2 fast
<!-- AC:END -->
"""


def test_a_file_of_backlog_md_is_one_task():
    (task,) = read_foreign(BACKLOG, Form.BACKLOG).tasks
    assert (task.key, task.title, task.needs) == ("task-7.1", "Login: page", ("task-2", "task-3"))
    assert (task.acceptance, task.keywords, task.priority) == (("works", "fast"), ("web",), "low")
    assert (task.prose, task.paths) == ("Write `src/x.py`.", ("src/x.py",))
    assert BACKLOG[task.mark.start : task.mark.end] == "To Do"
    assert parent_of(BACKLOG) == "task-7"


def test_a_head_that_names_itself_is_not_read():
    bomb = "---\nid: &a [x]\ntitle: *a\nstatus: Done\n---\n"
    with pytest.raises(RunnerError, match="front matter cannot be read"):
        read_foreign(bomb, Form.BACKLOG)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("in src/models/user.py, and `README.md`", ("README.md", "src/models/user.py")),
        ("call `user.save()` of `app.models`", ()),
        ("see https://example.org/a/b.html and `../../etc/passwd.txt`", ()),
        ("`/etc/passwd.conf` or e.g. and/or", ()),
        ("`Model.field` is `None`", ()),
    ],
)
def test_files_are_named_in_backquotes_or_with_a_folder(text, paths):
    assert paths_in(text) == paths


def test_five_hundred_tasks_are_read_at_once():
    text = "".join(f"- [ ] T{n:03d} Do `src/f{n}.py`\n" for n in range(1, 501))
    assert len(read_foreign(text, Form.SPEC_KIT).tasks) == 500
    document = {"tasks": [{"id": n, "title": f"t{n}", "status": "pending"} for n in range(500)]}
    assert len(read_foreign(json.dumps(document), Form.TASK_MASTER).tasks) == 500
