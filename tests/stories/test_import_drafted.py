"""What a list of another tool lacks is drafted, and all of it waits as one draft."""

import contextlib
import signal
import time

import psutil
import pytest
from wish_drafts import MINE, plan_of

LIST = """# Tasks

## Phase 1: Words

- [ ] T001 Write `words.py`
- [x] T002 Draw the logo in `logo.svg`
- [ ] T003 Count the words
- [ ] T004 Talk about it
"""
ANSWER = """\
~~~~markdown draft
## TASK-008: Another title

- Status: DONE
- Output files: `tests/test_words.py`
- Command: rm -rf /
- Source: `elsewhere:1`
- Test contracts:
  - TC-008 (unit): `python3 -m unittest -q tests.test_words`

## TASK-010: Count the words

- Depends on: TASK-008
- Output files: `count.py`, `tests/test_count.py`
- Acceptance:
  - an empty text has none
- Test contracts:
  - TC-010 (unit): `python3 -m unittest -q tests.test_count`
~~~~

~~~~asked
- TASK-011: none
~~~~
"""


@pytest.fixture
def listed(workplace):
    """A repository with a plan and a list of spec-kit."""
    workplace.plan(MINE)
    workplace.commit({"specs/tasks.md": LIST})
    return workplace


def test_files_and_proofs_are_drafted_and_the_words_of_the_list_stay(listed, drafter):
    drafter.says(ANSWER)
    before = plan_of(listed)
    said = listed.runner("import", "specs/tasks.md", "--draft", "--trust")
    assert said.code == 3, said.said
    assert plan_of(listed) == before
    assert "DRAFT-1 waits" in said.out
    assert "requested, but not covered: Talk about it (specs/tasks.md:8)" in said.out
    assert "removed, draft:5: Command" in said.out
    assert "removed, draft:1: a different title for TASK-008" in said.out
    assert "TASK-009: marked as done in the list, so unproven here" in said.out
    assert "T003 Count" not in drafter.asked[0]
    assert "## TASK-010: Count the words" in drafter.asked[0]
    assert "## TASK-009" not in drafter.asked[0]
    assert listed.runner("approve", "DRAFT-1").code == 0
    assert plan_of(listed).startswith(before)
    added = plan_of(listed).removeprefix(before).decode()
    assert "## TASK-008: Write `words.py`\n" in added
    assert "- Output files: `words.py`, `tests/test_words.py`\n" in added
    assert "- Source: `specs/tasks.md:5`\n" in added
    assert "- Depends on: TASK-009, TASK-008\n" in added
    assert "rm -rf" not in added
    assert "elsewhere" not in added
    assert listed.status_line("TASK-008") == "- Status: PENDING"
    assert listed.status_line("TASK-009").startswith("- Status: DONE — unproven: marked as done")
    assert listed.status_line("TASK-011") == (
        "- Status: BLOCKED — imported without output files and proof"
    )
    assert "no new tasks" in listed.runner("import", "specs/tasks.md").out


def test_while_it_waits_the_list_is_known_and_its_ids_are_given(listed, drafter):
    drafter.says(ANSWER)
    listed.runner("import", "specs/tasks.md", "--draft", "--trust")
    assert "no new tasks" in listed.runner("import", "specs/tasks.md").out
    listed.write({"todo.md": "- [ ] Sing `song.txt`\n"})
    assert "as TASK-012" in listed.runner("import", "todo.md").out
    assert listed.runner("approve", "DRAFT-1").code == 0


WRONG = (
    (ANSWER.replace("- TASK-011: none", "- nothing: none"), "TASK-011 is not in the answer"),
    (ANSWER.replace("TASK-010: Count", "TASK-020: Count"), "TASK-020 is not one of the tasks"),
    (ANSWER.replace("TASK-010: Count", "TASK-009: Count"), "TASK-009 is or was another task"),
    (ANSWER.replace("`count.py`", "`../count.py`"), "../count.py"),
    (ANSWER.replace("`count.py`", "`runner.toml`"), "runner.toml"),
    (ANSWER.replace("tests.test_count`\n~", "tests.nowhere`\n~"), "nowhere"),
    ("I cannot.", "no fenced block"),
)


def test_what_is_wrong_goes_back_and_nothing_is_written(listed, drafter):
    before = plan_of(listed)
    for answer, said in WRONG:
        drafter.says(answer)
        ended = listed.runner("import", "specs/tasks.md", "--draft", "--trust")
        assert ended.code == 1, (said, ended.said)
        assert said in ended.out
        assert said in drafter.asked[1]
        assert len(drafter.asked) == 3
        assert plan_of(listed) == before
        assert listed.runner("review", "--json").document["waiting"] == []


def test_a_refused_one_is_asked_for_anew_with_the_reason(listed, drafter):
    drafter.says(ANSWER)
    listed.runner("import", "specs/tasks.md", "--draft", "--trust")
    drafter.says(ANSWER.replace("`count.py`", "`counting.py`"))
    said = listed.runner("reject", "DRAFT-1", "--reason", "call it counting")
    assert said.code == 3, said.said
    assert "call it counting" in drafter.asked[0]
    assert "counting.py" in said.out
    assert listed.runner("approve", "DRAFT-2").code == 0
    assert listed.read("TASK-GRAPH.md").count("Count the words") == 1


def test_a_list_with_all_its_proofs_is_imported_at_once(listed, drafter):
    drafter.says("never asked")
    listed.write({"todo.md": "- [ ] Sing `song.txt`\n- [x] Dance `dance.txt`\n"})
    done = listed.runner("import", "todo.md", "--draft", "--trust", "--test", "test -s song.txt")
    assert done.code == 0, done.said
    assert "added to TASK-GRAPH.md" in done.out
    assert drafter.asked == []


@pytest.mark.parametrize("flag", ["--accept-done", "--dry-run"])
def test_flags_that_have_no_place_beside_it_are_told(listed, flag):
    ended = listed.runner("import", "specs/tasks.md", "--draft", flag)
    assert ended.code == 2
    assert flag in ended.err


def test_what_is_marked_before_its_turn_is_told_and_left_alone(listed):
    said = listed.runner("import", "specs/tasks.md").out
    assert "marked as done before their dependencies: TASK-009; not rebuilt" in said


def test_a_stop_says_its_own_words_and_leaves_nothing_half(listed, drafter, tmp_path):
    drafter.says(ANSWER)
    pid = tmp_path / "pid"
    (listed.home / "config/runner/runner.toml").write_text(
        f"build.command = \"echo $$ > {pid}; sleep 300\"\nsandbox.kind = 'none'\n"
    )
    before = plan_of(listed)
    process = listed.start("import", "specs/tasks.md", "--draft", "--trust")
    for _ in range(900):
        if pid.exists() and pid.read_text().strip():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 130, said
    assert "drafting was interrupted; no draft was saved and no file was changed" in said
    assert plan_of(listed) == before
    assert listed.runner("review", "--json").document["waiting"] == []
    with contextlib.suppress(psutil.NoSuchProcess):
        command = psutil.Process(int(pid.read_text()))
        for _ in range(300):
            if command.status() == psutil.STATUS_ZOMBIE:  # it has ended
                break
            time.sleep(0.1)
        else:
            pytest.fail("the command goes on")
