"""`brief`: exactly what an implementer would be told, and what its parts cost."""

from ast import literal_eval

from commands_build import a_ground

from runner.cli import main

PLAN = """\
# Bookings

## TASK-001: Fix the store

- Output files: `src/store.py`
- Command: python3 keep.py
- Test contracts:
  - TC-001 (unit): `grep -q TASK-001 src/store.py`

## TASK-002: Users log in

- Output files: `src/login.py`
- Command: `true`
"""


def a_shop(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", PLAN)
    ground.write("src/store.py", "from models import Booking\n\n\nclass Store: ...\n")
    ground.write("src/models.py", "class Booking: ...\n")
    ground.write("skills/web/SKILL.md", "---\nname: web\n---\n")
    ground.commit()
    return ground


def test_the_text_is_on_standard_output_and_what_it_costs_beside_it(ground):
    said = a_shop(ground).runner("brief", "1")
    assert said.out.startswith("# TASK-001: Fix the store\n")
    assert said.err.startswith("PART       TOKENS\ntask ")
    assert "\nfiles " in said.err
    assert "warning: skills/web/SKILL.md:2: skill ignored: its description is missing\n" in said.err


def test_the_parts_alone_are_shown_where_they_are_asked_for_and_json_has_them_too(ground):
    shop = a_shop(ground)
    parts = shop.runner("brief", "1", "--parts").out
    document = shop.runner("brief", "1", "--json").json
    assert parts.splitlines()[0].split() == ["PART", "TOKENS"]
    assert parts.splitlines()[-1].split() == ["all", str(document["tokens"])]
    rows = [line.split() for line in parts.splitlines()[1:-1]]
    assert rows == [[one["name"], str(one["tokens"])] for one in document["parts"]]
    assert document["taskType"] == "bugfix (title: fix)"
    assert document["tokens"] == -(-len(document["text"]) // 4)


def test_files_come_from_the_last_commit_and_not_from_what_nobody_saved_in_git(ground):
    shop = a_shop(ground)
    shop.write("src/store.py", "unsaved = True\n")
    text = shop.runner("brief", "1").out
    assert "class Store: ..." in text
    assert "unsaved" not in text
    assert "### `src/models.py` (imports a file of this task, or is imported by one)" in text


def test_settings_say_what_may_be_read_and_where_skills_are(ground):
    shop = a_shop(ground)
    shop.write(
        "runner.toml", 'agent.read_allow = ["src/store.py"]\nskills.fallback_to_builtin = false\n'
    )
    text = shop.runner("brief", "1").out
    assert "class Store" in text
    assert "class Booking" not in text
    assert "## Skills" not in text


def test_a_repository_without_a_commit_has_a_brief_without_files(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", PLAN)
    said = ground.runner("brief", "1")
    assert said.code == 0
    assert "Context files" not in said.out


def test_a_run_tells_its_implementer_exactly_what_the_command_shows(ground):
    shop = a_shop(ground)
    shop.write("keep.py", "import sys\nopen('src/store.py', 'w').write(repr(sys.stdin.read()))\n")
    shop.commit()
    told = shop.runner("brief", "1").out
    assert main(["run", "TASK-001", "--trust", "--sandbox", "none"]) == 0
    commits = shop.git("log", "--format=%H", "--", "src/store.py").splitlines()
    written = shop.git("show", f"{commits[0]}:src/store.py")
    assert literal_eval(written).rstrip("\n") == told.rstrip("\n")


def test_what_was_searched_is_told_to_a_task_about_auth(ground):
    a_shop(ground)
    ground.write("PATTERN_INDEX.md", "| Pattern | Title |\n|---|---|\n| PATTERN-001 | x |\n")
    text = ground.runner("brief", "2").out
    assert "No pattern fits (searched: 1 pattern, domain auth" in text
    document = ground.runner("brief", "2", "--json").json
    assert document["searched"][:2] == ["1 pattern", "domain auth"]


def test_a_task_with_blocks_has_a_brief_as_well(ground):
    a_ground(ground, "A")
    assert ground.runner("brief", "1").code == 0


def test_what_an_agent_is_told_beside_the_brief_is_a_part_of_its_own(ground):
    shop = a_shop(ground)
    shop.write("TASK-GRAPH.md", PLAN.replace("Command: python3 keep.py", "Implementer: claude"))
    said = shop.runner("brief", "1")
    assert "\n# How you work here\n" in said.out
    assert "Plan the task; change nothing now" in said.out
    assert "\nsession " in said.err
    assert shop.runner("brief", "1", "--json").json["mode"] == "plan"
    assert "# How you work here" not in shop.runner("brief", "2").out
