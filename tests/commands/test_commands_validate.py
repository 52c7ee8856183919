"""`validate` and `graph`: the plan alone, and the plan as a picture."""

from commands_build import a_ground, began, done, published


def test_a_sound_plan_is_said_to_be_sound(ground):
    a_ground(ground)
    assert ground.runner("validate") == (0, "TASK-GRAPH.md: 3 tasks, 0 mistakes, 0 warnings\n", "")


def test_five_different_mistakes_get_five_messages_at_once(ground):
    ground.git("init", "-q")
    ground.write(
        "TASK-GRAPH.md",
        """\
# Wrong

## TASK-001: One

- Status: FINISHED
- Depends on: TASK-002

## TASK-002: Two

- Depends on: TASK-001

## TASK-003: Three

- Depends on: TASK-033
- Output files: `../outside.txt`

## TASK-003: Three again
""",
    )
    said = ground.runner("validate")
    assert (said.code, said.err) == (2, "")
    assert (
        said.out
        == """\
TASK-GRAPH.md:5:11: error: unknown status "FINISHED"
  - Status: FINISHED
            ^^^^^^^^
hint: write one of PENDING, IN-PROGRESS, DONE, BLOCKED, STALE

TASK-GRAPH.md:6:15: error: dependency cycle: TASK-001 → TASK-002 → TASK-001
  - Depends on: TASK-002
                ^^^^^^^^
hint: remove one of these ids from its Depends on

TASK-GRAPH.md:14:15: error: TASK-003 depends on unknown task TASK-033
  - Depends on: TASK-033
                ^^^^^^^^
hint: add a section for TASK-033, or name another task: TASK-002, TASK-001

TASK-GRAPH.md:15:17: error: bad path "../outside.txt": must not contain `..`
  - Output files: `../outside.txt`
                  ^^^^^^^^^^^^^^^^
hint: a task stays inside the project's folder

TASK-GRAPH.md:17:4: error: duplicate task ID TASK-003 (first on line 12)
  ## TASK-003: Three again
     ^^^^^^^^^^^^^^^^^^^^^
hint: give one of them an unused id

TASK-GRAPH.md: 4 tasks, 5 mistakes, 0 warnings
"""
    )


def test_a_program_gets_every_place(ground):
    a_ground(ground, "A needs Z")
    said = ground.runner("validate", "--json")
    assert said.code == 2
    document = said.json
    assert (document["kind"], document["errors"], document["tasks"]) == ("validation", 1, 1)
    problem = document["problems"][0]
    assert problem["message"] == "TASK-001 depends on unknown task TASK-026"
    assert (problem["path"], problem["line"], problem["severity"]) == ("TASK-GRAPH.md", 6, "error")


def test_the_files_beside_the_plan_are_looked_at_too(ground):
    a_ground(ground, "A")
    ground.write(
        "FILE_OWNERSHIP_MAP.md", "| File | Tasks |\n|---|---|\n| `a.txt` | TASK-001, whoever |\n"
    )
    ground.write(
        "PATTERN_INDEX.md",
        "| Pattern | Title | Domain | Stack | Keywords | File |\n|---|---|---|---|---|---|\n"
        "| PATTERN-001 | Gone | data | | x | `patterns/gone.md` |\n",
    )
    said = ground.runner("validate")
    assert said.code == 2
    assert (
        said.out
        == """\
FILE_OWNERSHIP_MAP.md:3:23: error: "whoever" is not a valid task id
  | `a.txt` | TASK-001, whoever |
                        ^^^^^^^
hint: write ids such as TASK-001

PATTERN_INDEX.md:3:38: warning: PATTERN-001 is in "patterns/gone.md", which does not exist
  | PATTERN-001 | Gone | data | | x | `patterns/gone.md` |
                                       ^^^^^^^^^^^^^^^^
hint: create the file, or remove the row

TASK-GRAPH.md: 1 task, 0 mistakes, 0 warnings
FILE_OWNERSHIP_MAP.md: 1 mistake, 0 warnings
PATTERN_INDEX.md: 0 mistakes, 1 warning
"""
    )


def test_another_plan_can_be_named(ground):
    a_ground(ground)
    ground.write("other/PLAN.md", "# Other\n\n## TASK-001: only one\n\n- Command: make\n")
    said = ground.runner("validate", "--task-graph", "other/PLAN.md")
    assert said == (0, "PLAN.md: 1 task, 0 mistakes, 0 warnings\n", "")


def test_a_plan_that_is_not_there_is_a_mistake_of_usage(ground):
    a_ground(ground)
    assert ground.runner("validate", "--task-graph", "gone.md") == (
        2,
        "",
        f"runner: plan not found ({ground.folder}/gone.md)\nhint: runner init\n",
    )


def test_nothing_runs_and_nothing_is_written_into_the_repository(ground):
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("`true`", "`touch ran`"))
    before = sorted(ground.folder.iterdir())
    assert ground.runner("validate").code == 0
    assert sorted(ground.folder.iterdir()) == before


def test_the_graph_is_mermaid_with_statuses(ground):
    a_ground(ground, "A; B needs A")
    ground.journal(began(ground), *done(ground, "TASK-001"), published(ground, A="DONE"))
    said = ground.runner("graph")
    assert said.code == 0
    assert said.out.startswith("""\
flowchart TD
    t1["TASK-001: task A<br/>DONE"]:::done
    t2["TASK-002: task B<br/>PENDING"]:::pending
    t1 --> t2
""")


def test_the_graph_is_nodes_and_edges_for_a_program(ground):
    a_ground(ground, "A; B needs A")
    document = ground.runner("graph", "--json").json
    assert document == {
        "schemaVersion": 1,
        "kind": "graph",
        "nodes": [
            {"id": "TASK-001", "title": "task A", "status": "PENDING"},
            {"id": "TASK-002", "title": "task B", "status": "PENDING"},
        ],
        "edges": [{"from": "TASK-001", "to": "TASK-002"}],
    }


def test_a_format_that_is_none_is_refused(ground):
    a_ground(ground)
    said = ground.runner("graph", "--format", "pdf")
    assert said.code == 2
    assert said.err == (
        "runner: argument --format: invalid choice: 'pdf' "
        "(choose from 'mermaid', 'dot', 'ascii', 'svg')\n"
        "hint: runner graph --help\n"
    )


def test_a_skill_that_no_brief_can_list_is_a_warning_with_its_line(ground):
    a_ground(ground, "A")
    ground.write("skills/web/SKILL.md", "---\nname: web\n---\n")
    ground.commit()
    said = ground.runner("validate")
    assert said.code == 0
    assert "skills/web/SKILL.md:2:1: warning: skill ignored" in said.out


def test_an_implementer_that_does_not_exist_is_a_mistake_with_its_place(ground):
    ground.git("init", "-q")
    ground.write("TASK-GRAPH.md", "# P\n\n## TASK-001: One\n\n- Implementer: claud\n")
    said = ground.runner("validate")
    assert said.code == 2
    assert (
        said.out
        == """\
TASK-GRAPH.md:5:16: error: unknown implementer "claud"
  - Implementer: claud
                 ^^^^^
hint: did you mean "claude"?

TASK-GRAPH.md: 1 task, 1 mistake, 0 warnings
"""
    )


def test_a_diff_that_fits_no_file_is_named_before_anything_runs(ground):
    diff = "```diff file=m.py\n@@ -1,3 +1 @@\n-a\n+b\n```\n"
    task = "## TASK-00{0}: T\n\n- Status: {1}\n- Output files: `m.py`\n- Test contracts:\n"
    task += "  - TC-00{0}: `python3 -m unittest`\n\n{2}\n"
    plan = task.format(1, "PENDING", diff) + task.format(2, "DONE", diff)
    ground.write("TASK-GRAPH.md", f"# P\n\n{plan}")
    ground.git("init", "-q")
    ground.commit()
    where = "TASK-GRAPH.md:14:1: error: TASK-001: hunk 1 is malformed"
    assert where in ground.runner("validate").out
    assert where in ground.runner("run", "--trust").err
    (row,) = [
        one for one in ground.runner("doctor", "--json").json["signs"] if one["name"] == "plan"
    ]
    assert (row["state"], row["hint"]) == ("wrong", "runner validate")


def test_a_task_that_uses_more_than_there_is_is_a_mistake_with_its_place(ground):
    ground.git("init", "-q")
    ground.write("runner.toml", "[resources]\nGPU = 1\n")
    ground.write("TASK-GRAPH.md", "# P\n\n## TASK-001: One\n\n- Uses: Gpu 2\n")
    said = ground.runner("validate")
    assert said.code == 2
    assert (
        """\
TASK-GRAPH.md:5:9: error: TASK-001 uses 2 gpu, but the settings have 1
  - Uses: Gpu 2
          ^^^
hint: use less, or set gpu = … in [resources] of the settings
"""
        in said.out
    )


IDLE = """\
TASK-GRAPH.md:7:10: warning: TASK-001 names a model, but command builds it and uses no model
  - Model: opus
           ^^^^
hint: remove the field, or name an agent: - Implementer: claude
"""


def test_a_model_that_nobody_asks_is_a_warning_with_its_place(ground):
    ground.git("init", "-q")
    task = "# P\n\n## TASK-001: One\n\n- Output files: `a.txt`\n- {}\n- Model: opus\n"
    proof = "- Tests:\n  - TC-001 (unit): `test -f a.txt`\n"
    ground.write("TASK-GRAPH.md", task.format("Command: touch a.txt") + proof)
    said = ground.runner("validate")
    assert said.code == 0
    assert IDLE in said.out
    ground.write("TASK-GRAPH.md", task.format("Implementer: claude") + proof)
    assert "model" not in ground.runner("validate").out
