"""`why`: the chain of causes, down to what a person could do."""

from commands_build import a_ground, began, blocked, done, ended, published, started

from runner.journal.events import TaskLanding
from runner.model import Reason


def test_a_task_that_waits_is_traced_to_the_root(ground):
    a_ground(ground, "A; B needs A; C needs B; D needs C")
    ground.git("branch", "draft/TASK-002-b")
    ground.journal(began(ground), *done(ground, "TASK-001"), *blocked(ground, "TASK-002"))
    ground.journal(published(ground, A="DONE", B="BLOCKED"), ended(ground, 1))
    assert ground.runner("why", "TASK-004") == (
        0,
        """\
TASK-004 waits for TASK-003
  TASK-003 waits for TASK-002
    TASK-002 is BLOCKED (checks) since <time>: TC-002 failed 1 time
        TC-002: b.txt:3: 1 test failed
          assert 1 == 2
          last line
          hint: mend it

next: fix the plan or finish draft/TASK-002-b (`runner adopt TASK-002`), then `runner`; \
to retry unchanged: `runner retry TASK-002`  (TASK-002)
""",
        "",
    )


def test_each_cause_is_told_once(ground):
    a_ground(ground, "A; B needs A; C needs A; D needs B,C")
    assert (
        ground.runner("why", "4").out
        == """\
TASK-004 waits for TASK-002, TASK-003
  TASK-002 waits for TASK-001
    TASK-001 would run now: PENDING, and it has no dependencies
  TASK-003 waits for TASK-001
    TASK-001 (see above)

next: runner  (TASK-001)
"""
    )


def test_a_program_gets_the_chain_and_its_roots(ground):
    a_ground(ground, "A; B needs A; C needs B")
    document = ground.runner("why", "TASK-003", "--json").json
    assert document["kind"] == "why"
    assert (document["task"], document["status"]) == ("TASK-003", "PENDING")
    assert document["roots"] == ["TASK-001"]
    assert document["cause"]["behind"][0]["behind"][0] == {
        "task": "TASK-001",
        "text": "would run now: PENDING, and it has no dependencies",
        "behind": [],
        "details": [],
        "next": "runner",
    }


def test_a_task_that_is_ready_says_what_it_built_on(ground):
    a_ground(ground, "A; B needs A")
    ground.journal(began(ground), *done(ground, "TASK-001"), published(ground, A="DONE"))
    assert (
        ground.runner("why", "TASK-002").out
        == """\
TASK-002 would run now: PENDING, and its dependencies are DONE (TASK-001)

next: runner
"""
    )


def test_a_task_that_lacks_a_tool_would_be_blocked(ground):
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("- Output", "- Requires: tool no-such-tool\n- Output"))
    assert (
        ground.runner("why", "1").out
        == """\
TASK-001 would be BLOCKED at once: tool no-such-tool is not on PATH

next: `runner doctor`
"""
    )


def test_a_done_task_shows_what_it_rests_on(ground):
    a_ground(ground, "A")
    commit = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), published(ground, A="DONE"))
    assert (
        ground.runner("why", "TASK-001").out
        == f"""\
TASK-001 is DONE since <time> as {commit[:12]}, proven by tests
    TC-001: pass, exit 0, 0.25 s
"""
    )


def test_done_on_a_persons_word_says_whose_word(ground):
    a_ground(ground, "A is DONE")
    assert ground.runner("why", "TASK-001").out == (
        "TASK-001 is DONE, unproven: marked DONE in the plan, without evidence "
        "(not in the journal yet)\n"
    )


def test_a_stale_task_says_what_was_there_and_what_to_do(ground):
    a_ground(ground, "A")
    commit = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), published(ground, A="DONE"))
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("task A", "task Z"))
    assert (
        ground.runner("why", "TASK-001").out
        == f"""\
TASK-001 is STALE: the task was edited since it was built (not in the journal yet)
    changed: what to build
    it was DONE as {commit[:12]}

next: `runner --rebuild` rebuilds it; `runner review TASK-001` shows what was built
"""
    )


def test_what_a_run_works_on_is_said_with_its_attempt(ground):
    from runner.journal.lock import RunLock
    from runner.project import BUILD

    a_ground(ground, "A")
    ground.journal(began(ground), started(ground, "TASK-001", 2))
    with RunLock(ground.folder / BUILD):
        said = ground.runner("why", "TASK-001")
    assert said.out == (
        "TASK-001 is IN-PROGRESS: attempt 2 (blocks) since <time>\n\nnext: runner log --follow\n"
    )


def test_a_circle_is_no_endless_story(ground):
    a_ground(ground, "A needs B; B needs A; C needs A")
    assert (
        ground.runner("why", "TASK-003").out
        == """\
TASK-003 waits for TASK-001
  TASK-001 waits for TASK-002
    TASK-002 waits for TASK-001
      TASK-001 waits for itself: dependency cycle

next: runner validate  (TASK-001)
"""
    )


def test_an_unknown_dependency_is_a_root(ground):
    a_ground(ground, "A needs Z")
    assert (
        ground.runner("why", "TASK-001").out
        == """\
TASK-001 waits for TASK-026
  TASK-026 is not in the plan

next: runner validate  (TASK-026)
"""
    )


def test_a_chain_of_a_thousand_tasks_is_told_briefly(ground):
    ground.git("init", "-q")
    sections = (
        f"## T{n:04d}: link\n\n- Depends on: {f'T{n - 1:04d}' if n > 1 else 'none'}\n"
        for n in range(1, 1501)
    )
    ground.write("TASK-GRAPH.md", "# Chain\n\n" + "\n".join(sections))
    said = ground.runner("why", "T1500")
    lines = said.out.splitlines()
    assert said.code == 0
    assert len(lines) == 16
    assert lines[12].strip() == ("T1488 waits for T1487, and indirectly, through 1486 tasks, for")
    wish = "nothing in its section can be built or checked"
    assert lines[13].strip() == f"T0001 would be BLOCKED at once: {wish}"


def test_a_reason_that_a_person_removed_is_said_to_be_read_just_now(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *blocked(ground, "TASK-001", reason=Reason.STUCK))
    ground.journal(published(ground, A="BLOCKED"))
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("BLOCKED", "PENDING"))
    assert (
        ground.runner("why", "TASK-001").out
        == """\
TASK-001 would run now: PENDING, and it has no dependencies \
(not in the journal yet: set from BLOCKED to PENDING in the plan)

next: runner
"""
    )


def test_an_id_that_is_none_is_refused_with_the_one_that_was_meant(ground):
    a_ground(ground)
    assert ground.runner("why", "TASK-0O3") == (
        2,
        "",
        'runner: unknown task "TASK-0O3"\nhint: did you mean "TASK-003"?\n',
    )


def test_a_task_that_failed_before_says_by_what(ground):
    a_ground(ground, "A")
    begun, failed, _ = blocked(ground, "TASK-001")
    ground.journal(began(ground), begun, failed, published(ground, A="PENDING"))
    assert (
        ground.runner("why", "TASK-001").out
        == """\
TASK-001 would run now: PENDING, and it has no dependencies
    1 attempt in a row failed before:
    TC-002: b.txt:3: 1 test failed
      assert 1 == 2
      last line
      hint: mend it

next: runner
"""
    )


def test_an_interrupted_landing_comes_first_in_the_next_run(ground):
    a_ground(ground, "A")
    landing = TaskLanding(tree="c" * 40, parent="", paths=("a.txt",))
    ground.journal(began(ground), *done(ground, "TASK-001")[:2], (landing, "TASK-001", 1))
    assert (
        ground.runner("why", "TASK-001").out
        == """\
TASK-001 was landing when the last run ended: the next run finishes this landing first

next: runner
"""
    )


def test_without_an_id_everything_is_told_that_does_not_go_on_by_itself(ground):
    a_ground(ground, "A; B needs A; C needs B; D")
    assert "nothing is blocked" in ground.runner("why").out
    ground.git("branch", "draft/TASK-002-b")
    ground.journal(began(ground), *done(ground, "TASK-001"), *blocked(ground, "TASK-002"))
    ground.journal(published(ground, A="DONE", B="BLOCKED"), ended(ground, 1))
    said = ground.runner("why").out
    assert said.startswith("TASK-002 is BLOCKED (checks)")
    assert "next: fix the plan or finish draft/TASK-002-b" in said
    assert "TASK-003" not in said
    assert "TASK-004" not in said
    (cause,) = ground.runner("why", "--json").json["causes"]
    assert cause["task"] == "TASK-002"
