"""`show` and `brief`: one task whole."""

import json
import re
from ast import literal_eval

import pytest
from commands_build import FINDING, PROOF, TREE, a_ground, began, blocked, done, published
from workplace import a_task

from runner.cli import main
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


TASK = a_task("TASK-001", "Check", tests=["grep -q shop README.md"])


@pytest.fixture
def shop(workplace):
    workplace.commit({"README.md": "# shop\n"})
    workplace.plan(TASK)
    assert workplace.run("--no-sandbox").code == 0
    return workplace


def attested(place, **changes):
    said = place.runner("evidence", "1", "--format", "in-toto")
    assert said.code == 0
    statement = json.loads(said.out)
    statement["predicate"].update(changes)
    (place.root / "proof.json").write_text(json.dumps(statement))
    return statement


def test_a_true_statement_is_confirmed_and_proven_again(shop):
    attested(shop)
    said = shop.runner("verify-attestation", "proof.json")
    assert said.code == 0
    assert "TASK-001: it matches commit" in said.out
    assert "relies on the author of that commit" in said.out
    again = shop.runner("verify-attestation", "proof.json", "--run", "--trust", "--sandbox", "none")
    assert (again.code, again.out.splitlines()[-1]) == (0, "re-tested on HEAD")


def test_a_lie_is_named_with_its_place_and_nothing_runs(shop):
    attested(shop, passedTests=["TC-001", "TC-002"])
    said = shop.runner("verify-attestation", "proof.json", "--run", "--json")
    found = json.loads(said.out)
    assert (said.code, found["agrees"], found["ranAgain"]) == (1, False, None)
    assert [one["where"] for one in found["faults"]] == ["predicate.passedTests"]


def test_a_proof_that_fails_by_now_is_told(shop):
    attested(shop)
    (shop.root / "README.md").write_text("# other\n")
    shop.git("commit", "-qam", "other")
    said = shop.runner("verify-attestation", "proof.json", "--run", "--trust", "--sandbox", "none")
    assert (said.code, said.out.splitlines()[-1]) == (1, "NOT proven on HEAD: see above")


def test_a_file_that_is_not_there_is_told(shop):
    said = shop.runner("verify-attestation", "none.json")
    assert said.code == 2
    assert "cannot be read" in said.err


@pytest.mark.parametrize(
    "words", [("verify-attestation", "proof.json", "--run"), ("verify", "--all"), ("ship",)]
)
def test_who_did_not_trust_its_commands_is_told_the_very_line_to_type(
    shop, words, monkeypatch, tmp_path
):
    attested(shop)
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):  # somebody else's
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "other"))
    said = shop.runner(*words)
    assert said.code == 3
    assert said.err.endswith(f"hint: read them, then: runner {' '.join(words)} --trust\n")
    assert r"\n  proof.json" not in said.err
