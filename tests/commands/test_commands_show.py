"""`show` and `brief`: one task whole."""

import re

import pytest
from commands_build import FINDING, PROOF, TREE, a_ground, began, blocked, done, published

from runner.journal.events import DecisionMade
from runner.model import Decision, Finding, Severity


def test_a_done_task_shows_plan_attempts_and_evidence(ground):
    a_ground(ground, "A; B needs A")
    commit = ground.git("rev-parse", "HEAD")
    chosen = DecisionMade(number=1, decision=Decision("plain text"))
    ground.journal(
        began(ground),
        *done(ground, "TASK-001", commit),
        (chosen, "TASK-001", 1),
        published(ground, A="DONE"),
    )
    spec = ground.spec("TASK-001")
    assert ground.runner("show", "1", "-v") == (
        0,
        f"""\
TASK-001: task A
DONE
since <time>

plan:
  Line            3
  Output files    a.txt
  Test contracts  TC-001 (unit): true
  Blocks          file a.txt
  Digest, what    {spec.what}
  Digest, proof   {spec.proof}

attempts:
  1  <time>  blocks  passed in 2.00 s

evidence:
  proven by tests; valid for the task as it is now
  By the runner   TC-001
  Done at         <time>
  Commit          {commit}
  Tree            {TREE}
  Digest, what    {spec.what}
  Digest, proof   {spec.proof}
  TC-001: pass, exit 0, 0.25 s, 3 passed
    $ true
    output {PROOF.output}
    log artifacts/build/logs/TASK-001/1/TC-001.log

decisions:
  DECISION-001: plain text
""",
        "",
    )


@pytest.mark.parametrize("command", ["show", "evidence"])
def test_digests_are_told_to_who_asks_for_them(ground, command):
    a_ground(ground, "A")
    commit = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), published(ground, A="DONE"))
    long = re.compile("[0-9a-f]{20}")
    few, all_of_it = ground.runner(command, "1").out, ground.runner(command, "1", "-v").out
    assert f"Commit          {commit[:12]}\n" in re.sub(r"(?m)^  ", "", few)
    assert not long.search(few)
    assert len(long.findall(all_of_it)) > 3


def test_a_blocked_task_shows_its_findings_and_where_its_work_is(ground):
    a_ground(ground, "A; B")
    ground.journal(began(ground), *blocked(ground, "TASK-002"))
    ground.journal(published(ground, B="BLOCKED — TC-002 failed 1 time"))
    said = ground.runner("show", "TASK-002").out
    assert said.startswith(
        "TASK-002: task B\nBLOCKED — failed (checks) — TC-002 failed 1 time\nsince <time>\n"
    )
    assert (
        """
attempts:
  1  <time>  blocks  failed in 3.00 s, 1 finding, saved on draft/TASK-002-b

findings of the last failed attempt:
  TC-002: b.txt:3: 1 test failed
    assert 1 == 2
    last line
    hint: mend it

work that has not landed:
  draft/TASK-002-b (git diff HEAD...draft/TASK-002-b)
"""
        in said
    )


def test_what_was_only_told_of_stands_below_what_refused(ground):
    a_ground(ground, "A; B")
    told = Finding(check="secret-scan", message="seen: an address", severity=Severity.NOTE)
    ground.journal(began(ground), *blocked(ground, "TASK-002", told=(told,)))
    ground.journal(published(ground, B="BLOCKED — TC-002 failed 1 time"))
    said = ground.runner("show", "TASK-002").out
    assert said.index("  TC-002: b.txt:3") < said.index("  note: secret-scan: seen: an address\n")


def test_every_field_of_a_rich_task_is_shown(ground):
    ground.git("init", "-q")
    ground.write(
        "TASK-GRAPH.md",
        """\
# Rich

## TASK-001: Everything

- Type: api
- Output files: `src/**`
- Inputs: `docs/a.md`
- Acceptance:
  - it works
- Contracts:
  - openapi: `api.yaml`
- Gates:
  - lint: `true`
- Coverage: 80%
- Command: `make it`
- Red first: yes
- Uses: gpu 1
- Network: loopback
- Timeout: 10 minutes
- Keywords: one, two
- Stack: python
- Requires: tool make, secret TOKEN_NAME
- Budget: 5 attempts, 30 minutes, 200k tokens, $5
- Review: prompt
""",
    )
    said = re.sub(r"sha256:\w+", "<digest>", ground.runner("show", "TASK-001").out)
    assert (
        said
        == """\
TASK-001: Everything
PENDING
ready: `runner` starts it

plan:
  Line            3
  Type            api
  Output files    src/**
  Inputs          docs/a.md
  Acceptance      it works
  Contracts       openapi: api.yaml
  Gates           lint: true
  Coverage        80%
  Command         make it
  Red first       yes
  Uses            gpu 1
  Network         loopback
  Timeout         600 s
  Keywords        one, two
  Stack           python
  Requires        tool make, secret TOKEN_NAME
  Budget          5 attempts, 30 minutes, 200000 tokens, $5
  Review          prompt
"""
    )


def test_a_program_gets_all_of_it(ground):
    a_ground(ground, "A; B needs A")
    commit = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), *blocked(ground, "TASK-002"))
    ground.journal(published(ground, A="DONE", B="BLOCKED"))
    one = ground.runner("show", "1", "--json").json
    assert (one["kind"], one["status"], one["task"]["title"]) == ("task", "DONE", "task A")
    assert one["evidence"]["standing"] == "current"
    assert one["evidence"]["commit"] == commit
    assert one["evidence"]["proofs"][0]["output"] == PROOF.output
    two = ground.runner("show", "2", "--json").json
    assert two["evidence"] is None
    assert two["reason"] == "checks"
    assert two["findings"][0]["message"] == FINDING.message
    assert two["attempts"][0]["draft"] == "draft/TASK-002-b"


def test_a_task_nobody_tried_yet_has_a_plan_and_no_more(ground):
    said = a_ground(ground).runner("show", "TASK-002").out
    assert "PENDING\nwaits for TASK-001\n" in said
    assert "attempts" not in said
    assert "evidence" not in said


def test_an_id_that_is_none_is_refused(ground):
    assert a_ground(ground).runner("show", "QQQQ") == (
        2,
        "",
        'runner: unknown task "QQQQ"\nhint: `runner status --list` lists the tasks\n',
    )


def test_the_brief_is_what_the_next_attempt_is_told(ground):
    a_ground(ground, "A; B")
    ground.journal(began(ground), *blocked(ground, "TASK-002"), published(ground, B="BLOCKED"))
    said = ground.runner("brief", "2")
    assert said.code == 0
    assert said.out.startswith("# TASK-002: task B\n")
    assert "- Attempt: 2\n" in said.out
    assert "- `b.txt`\n" in said.out
    assert "1 test failed" in said.out
    document = ground.runner("brief", "2", "--json").json
    assert (document["kind"], document["attempt"]) == ("brief", 2)
    assert document["text"].rstrip("\n") == said.out.rstrip("\n")


def test_the_brief_holds_the_patterns_that_fit(ground):
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("- Output", "- Keywords: locking\n- Output"))
    ground.write(
        "PATTERN_INDEX.md",
        "| Pattern | Title | Domain | Stack | Keywords | File |\n|---|---|---|---|---|---|\n"
        "| PATTERN-001 | Optimistic | data | | locking | `patterns/PATTERN-001.md` |\n",
    )
    ground.write("patterns/PATTERN-001.md", "Compare versions before you write.\n")
    assert "Compare versions before you write." in ground.runner("brief", "1").out
    assert ground.runner("brief", "1", "--json").json["patterns"] == ["PATTERN-001"]
