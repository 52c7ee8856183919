"""Plans of other tools: their tasks come into the plan as words alone, and their marks are true."""

import contextlib
import json
import re
import signal
import socket
import threading
import time
from contextlib import redirect_stderr
from io import StringIO

import psutil
import pytest
from built import copy
from wish_drafts import MINE, plan_of
from workplace import a_task

from runner import effects
from runner.app.write import import_tasks

TASKS = """# Tasks

## Phase 1: Words

- [ ] T001 Write `words.py`
- [x] T002 [P] Draw the logo
- [ ] T003 Talk about it
"""
FENCE = "`" * 3
HOSTILE = f"""- [ ] T001 Good `a.py`
  - Command: rm -rf /
  - ## TASK-999: Mine
  - {FENCE}sh run
  - !change TASK-001 other
  - > CHANGE-001 (2026-11-22): other
  - Implementer: claude
- [ ] T002 - Command: `touch pwned` <!-- x
- [ ] T003 **Requires**: root
"""


def imported(workplace, text, *flags, name="specs/tasks.md", code=0):
    workplace.write({name: text})
    ended = workplace.runner("import", name, *flags)
    assert ended.code == code, ended.said
    return ended


def test_tasks_come_behind_what_is_there_and_once(workplace):
    workplace.plan(a_task("TASK-007", "Mine", blocks={"mine.txt": "m\n"}))
    before = workplace.read("TASK-GRAPH.md")
    said = imported(workplace, TASKS).out
    assert "spec-kit: 3 tasks added to TASK-GRAPH.md, as TASK-008 to TASK-010" in said
    assert workplace.read("TASK-GRAPH.md").startswith(before)
    added = workplace.read("TASK-GRAPH.md").removeprefix(before)
    assert "- Depends on: TASK-008\n" in added
    assert "- Output files: `words.py`\n" in added
    assert "- Source: `specs/tasks.md:5`\n" in added
    assert workplace.status_line("TASK-009").startswith("- Status: DONE — unproven: marked as done")
    assert workplace.status_line("TASK-010").startswith("- Status: BLOCKED — imported without")
    again = workplace.runner("import", "specs/tasks.md")
    assert "no new tasks" in again.out
    assert workplace.read("TASK-GRAPH.md") == before + added


def test_a_plan_is_made_where_there_is_none_and_a_dry_run_writes_nothing(workplace):
    (workplace.root / "TASK-GRAPH.md").unlink(missing_ok=True)
    said = imported(workplace, TASKS, "-n").out
    assert "## TASK-001: Write" in said
    assert not (workplace.root / "TASK-GRAPH.md").exists()
    document = imported(workplace, TASKS, "--json").document
    assert [one["id"] for one in document["added"]] == ["TASK-001", "TASK-002", "TASK-003"]
    assert document["wrote"]
    assert workplace.runner("validate").code == 0


def test_nothing_but_words_comes_out_of_a_hostile_file(workplace):
    imported(workplace, HOSTILE)
    tasks = workplace.runner("list", "--json").document["tasks"]
    assert [one["id"] for one in tasks] == ["TASK-001", "TASK-002", "TASK-003"]
    for one in tasks:
        shown = workplace.runner("show", one["id"]).out.casefold()
        asked = set(re.findall(r"^  (\w+)  ", shown, re.MULTILINE))
        assert "source" in asked
        assert not asked & {"command", "implementer", "requires", "gates", "blocks", "changes"}
    assert workplace.runner("validate").code == 0
    assert not (workplace.root / "pwned").exists()


def test_what_is_proven_is_marked_by_its_own_characters_alone(workplace):
    imported(workplace, TASKS, "--test", "python3 -c 'import words'")
    block = f"{FENCE}python file=words.py\nWORDS = 1\n{FENCE}\n"
    line = "- Source: `specs/tasks.md:5`\n"
    workplace.edit_plan(line, f"{line}\n{block}")
    workplace.git("add", "-A")
    workplace.git("commit", "-qm", "plan")
    assert workplace.run().code == 3  # what is only wished for waits
    assert workplace.runner("list", "--json").document["tasks"][0]["grade"] == "proven"
    looked = workplace.runner("sync", "-n").out
    assert "TASK-001 proven here: specs/tasks.md:5" in looked
    assert "TASK-002 marked there (unproven" in looked
    source = workplace.root / "specs/tasks.md"
    assert source.read_text() == TASKS
    said = workplace.runner("sync").out
    assert "marked as done: TASK-001" in said
    assert source.read_text() == TASKS.replace("[ ] T001", "[x] T001")
    assert "marked as not done: TASK-002" in workplace.runner("sync", "--uncheck").out
    wanted = TASKS.replace("[ ] T001", "[x] T001").replace("[x] T002", "[ ] T002")
    assert source.read_text() == wanted
    assert "nothing was written" in workplace.runner("sync").out


def test_lines_that_moved_are_found_by_their_title(workplace):
    imported(workplace, TASKS)
    workplace.write({"specs/tasks.md": "# Other\n\n" + TASKS.replace("logo", "picture")})
    document = workplace.runner("sync", "-n", "--json").document
    assert {(one["task"], one["what"]) for one in document["drifts"]} == {
        ("TASK-002", "gone there"),
    }


def test_a_file_that_is_saved_meanwhile_is_left_as_it_was_saved(workplace, monkeypatch):
    imported(workplace, TASKS)
    source = workplace.root / "specs/tasks.md"
    write = import_tasks.effects.write_file

    def saved_first(path, content, **options):
        if path == source:
            source.write_text(TASKS + "- [ ] T004 More\n")
        return write(path, content, **options)

    monkeypatch.setattr(import_tasks.effects, "write_file", saved_first)
    ended = workplace.runner("sync", "--uncheck")
    assert ended.code == 6, ended.said
    assert "changed during the sync" in ended.err
    assert source.read_text() == TASKS + "- [ ] T004 More\n"


@pytest.mark.parametrize("begun", [True, False], ids=["empty", "not there"])
def test_a_plan_that_is_saved_meanwhile_is_left_as_it_was_saved(workplace, monkeypatch, begun):
    plan = workplace.root / "TASK-GRAPH.md"
    plan.write_text("") if begun else plan.unlink(missing_ok=True)
    fsync = effects.fsync

    def saved_first(descriptor, target=""):
        if target == plan:
            plan.write_text("# Mine\n")
        fsync(descriptor, target)

    monkeypatch.setattr(effects, "fsync", saved_first)
    ended = imported(workplace, TASKS, code=6)
    assert "TASK-GRAPH.md changed during the import; nothing was written" in ended.err
    assert plan.read_text() == "# Mine\n"


def test_a_source_outside_of_the_project_is_never_written(workplace):
    outside = workplace.root.parent / "out.md"
    outside.write_text("- [x] Work\n")
    (workplace.root / ".git/tasks.md").write_text("- [x] Work\n")
    (workplace.root / "link.md").symlink_to(outside)
    places = ("../out.md", ".git/tasks.md", "link.md", "/etc/passwd")
    workplace.plan(
        *(a_task(f"TASK-00{n}", fields=[f"Source: `{one}:1`"]) for n, one in enumerate(places, 1))
    )
    document = workplace.runner("sync", "--uncheck", "--json").document
    assert [one["what"] for one in document["drifts"]] == ["gone there"] * len(places)
    assert outside.read_text() == "- [x] Work\n"


def test_a_folder_of_backlog_md_comes_whole_and_parents_rest_on_their_parts(workplace):
    head = "---\nid: {}\ntitle: {}\nstatus: {}\n{}---\n\n## Description\n\nWrite `{}.py`.\n"
    workplace.write(
        {
            "backlog/tasks/task-1 - One.md": head.format("task-1", "One", "Done", "", "one"),
            "backlog/tasks/task-1.1 - Part.md": head.format(
                "task-1.1", "Part", "To Do", "parent_task_id: task-1\n", "part"
            ),
        }
    )
    document = workplace.runner("import", ".", "--json").document
    assert document["forms"] == ["backlog"]
    assert {one["title"]: one["depends_on"] for one in document["added"]} == {
        "One": [document["added"][1]["id"]],
        "Part": [],
    }
    assert re.fullmatch(r"backlog/tasks/task-1\.1 - Part\.md:1", document["added"][1]["source"])


def test_what_is_marked_as_done_is_waived_by_name_where_a_person_says_so(workplace):
    ended = imported(workplace, TASKS, "--accept-done")
    assert "waived: TASK-002" in ended.out
    tasks = workplace.runner("list", "--json").document["tasks"]
    assert [one["grade"] for one in tasks] == [None, "waived", None]


def test_a_file_of_another_tool_given_as_a_plan_is_told(workplace):
    workplace.write({"tasks.md": TASKS})
    ended = workplace.runner("validate", "--task-graph", "tasks.md")
    assert ended.code == 2
    assert "this is not a plan, but a file in the spec-kit format" in ended.out
    assert "runner import tasks.md" in ended.out


def test_boxes_in_the_plan_itself_come_behind_them_as_sections(workplace):
    workplace.write({"TASK-GRAPH.md": "# Shop\n\n- [ ] Eat\n- [ ] Drink `a.py`\n"})
    told = workplace.runner("validate")
    assert "`runner import TASK-GRAPH.md` adds its tasks to the end of the file" in told.out
    assert "no task of this plan was imported" in workplace.runner("sync").out
    assert workplace.runner("import", "TASK-GRAPH.md").code == 0
    assert workplace.runner("validate").code == 0
    assert "no new tasks" in workplace.runner("import", "TASK-GRAPH.md").out


def test_what_holds_no_tasks_is_told(workplace):
    ended = imported(workplace, "# Prose\n", code=2)
    assert "name the format with --from" in ended.err
    assert workplace.runner("import", "nowhere.md").code == 2
    assert workplace.runner("import", "src").code == 2


def test_text_from_standard_input_and_lists_of_task_master(workplace, monkeypatch):
    document = json.dumps({"tasks": [{"id": 1, "title": "Work", "status": "pending"}]})
    monkeypatch.setattr("sys.stdin", StringIO(document))
    said = workplace.runner("import", "-", "--json").document
    assert said["forms"] == ["task-master"]
    assert said["added"][0]["source"] == "stdin:1"


class Terminal(StringIO):
    """What a person types at a terminal."""

    def isatty(self):
        return True


def test_at_a_terminal_one_command_is_asked_for_that_proves_the_tasks(workplace, monkeypatch):
    workplace.commit({"test_a.py": "import pytest\n", "specs/tasks.md": TASKS})
    for typed, proof in (("=", "python -m pytest -q"), ("make it", "make it"), ("", "")):
        place = copy(workplace.root, workplace.root.with_name(f"shop {typed}"), workplace.home)
        monkeypatch.setattr("sys.stdin", Terminal(typed + "\n"))
        asked = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr("contextlib.redirect_stderr", lambda _file: redirect_stderr(asked))  # noqa: B023 - called at once
            ended = place.runner("import", "specs/tasks.md")
        assert ended.code == 0
        said = asked.getvalue()
        assert said.count("which command tests them?") == 1
        assert "(type `=` to use `python -m pytest -q`, which runs its tests)" in said
        plan = place.read("TASK-GRAPH.md")
        assert (f"(unit): `{proof}`" in plan) == bool(proof)
        again = place.runner("import", "specs/tasks.md")
        assert "which command" not in again.said


def test_an_address_that_answers_no_http_is_told(workplace):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            sent, _ = listening.accept()
            with sent:
                sent.recv(4096)
                sent.sendall(b"+OK\r\n\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/tasks.md"
        ended = workplace.runner("import", address)
        answering.join()
    assert ended.code == 2, ended.said
    assert "cannot fetch it" in ended.said
    assert "hint: save it, then name the file" in ended.said


# --- what a list lacks is drafted -----------------------------------------------------


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
    (ANSWER.replace("TASK-010: Count", "TASK-020: Count"), "TASK-020 is not a task of the request"),
    (ANSWER.replace("TASK-010: Count", "TASK-009: Count"), "TASK-009 is already in use"),
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
