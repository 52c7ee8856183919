"""The bookings example with no file block in its plan: an agent builds it, and misbehaves.

The scripted agent has the finished files; on its way it leaks a key, writes out of scope, goes in
circles, breaks another task's test, weakens a test, and needs a person. What it wrote before is
caught each time, told, mended or held, and what comes out is the same working service.
"""

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from agent_program import install_agent

from runner.implementers.unified_diff import apply_patch
from runner.process.sandbox import choose_sandbox

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings"
BLOCK = re.compile(r"^```(\w+) file=(\S+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
RULE = "one.start < other.end and other.start < one.end"
TOUCHING = "one.start <= other.end and other.start <= one.end"
MORE = """\
## TASK-013: A note on the overlap rule

- Status: PENDING
- Depends on: TASK-010
- Output files: `booking/overlap.py`
- Red first: no
- Test contracts:
  - TC-013 (unit): `python3 -m unittest -q tests.test_overlap.OverlapTest.test_apart_is_fine`

## TASK-014: A note on the desk

- Status: PENDING
- Depends on: TASK-010
- Output files: `booking/desk.py`, `tests/test_desk.py`
- Red first: no
- Test contracts:
  - TC-016 (integration): `python3 -m unittest -q tests.test_desk`

## TASK-015: A workflow

- Status: PENDING
- Depends on: TASK-001
- Output files: `.github/workflows/ci.yml`
- Test contracts:
  - TC-015 (unit): `grep -q unittest .github/workflows/ci.yml`

"""


def without_blocks(text):
    """The plan with three tasks more, and the files that its blocks hold, by task."""
    before, last = text.split("## TASK-012:")
    last = last.replace("TASK-011", "TASK-011, TASK-013, TASK-014, TASK-015", 1)
    text = f"{before}{MORE}## TASK-012:{last}"
    files, known = {}, {}
    for section in text.split("\n## ")[1:]:
        some = {}
        for language, path, content in BLOCK.findall(section):
            some[path] = content
            if language == "diff":
                some[path] = apply_patch(known[path].encode(), content.encode(), path).decode()
        files[section.split(":")[0]] = some
        known |= some
    return BLOCK.sub("", text), files


def script_of(files):
    """What the agent does for each task: a plan, then attempts, of which the last is good."""
    tasks = {}
    for task, some in files.items():
        good = [{"write": path, "content": content} for path, content in some.items()]
        tasks[task] = {"attempts": [good]}
    finished = {path: content for some in files.values() for path, content in some.items()}

    def badly(task, *steps):
        good = tasks[task]["attempts"][0]
        tasks[task]["attempts"] = [[*good, *steps], good]

    badly("TASK-002", {"leak": "booking/models.py"})
    badly("TASK-003", {"write": "booking/helpers.py", "content": "x = 1\n"})
    badly("TASK-004", {"loop": 200})
    rule, test = finished["booking/overlap.py"], finished["tests/test_desk.py"]
    context = finished["booking/desk.py"]
    assert RULE in rule
    noted = {"write": "booking/overlap.py", "content": f"# Half open: [start, end).\n{rule}"}
    changed = {"write": "booking/overlap.py", "content": rule.replace(RULE, TOUCHING)}
    tasks["TASK-013"] = {"attempts": [[changed], [noted]]}
    described = {"write": "booking/desk.py", "content": f"# One desk a hotel.\n{context}"}
    weaker = test[: test.index("    def test_of_many_at_once")]  # the one that matters most
    weakens = [described, {"write": "tests/test_desk.py", "content": weaker}]
    both = {"steps": ["Describe the desk"], "files": [one["write"] for one in weakens]}
    plan = {**both, "context": [], "type": "", "gates": [], "phases": []}
    tasks["TASK-014"] = {"plan": plan, "attempts": [weakens, [described]]}
    workflow = "on: push\njobs: {test: {steps: [{run: python3 -m unittest}]}}\n"
    tasks["TASK-015"] = {"attempts": [[{"write": ".github/workflows/ci.yml", "content": workflow}]]}
    return tasks


class Agency:
    """A shop of bookings, and the agent that is to build it."""

    def __init__(self, shop, context):
        self.shop, self.context = shop, context
        settings = {"backoff": 0, "jobs": 2, "contract_examples": 5, "verify_at_end": False}
        install_agent(shop, context, {}, **settings)
        text, self.files = without_blocks((EXAMPLE / "TASK-GRAPH.md").read_text("utf-8"))
        assert "file=" not in text
        for name in ("FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md"):
            shutil.copy(EXAMPLE / name, shop.root)
        shutil.copytree(EXAMPLE / "patterns", shop.root / "patterns")
        shop.commit({"TASK-GRAPH.md": text}, "plan")
        self.tell(script_of(self.files))

    def tell(self, tasks):
        (self.context / "script.json").write_text(json.dumps({"tasks": tasks}))

    def findings(self, task):
        """The checks that refused each attempt at a task."""
        ended = self.shop.happened("attempt.finished", task)
        refused = [one for one in ended if one["findings"]]
        return [{each["check"] for each in one["findings"]} for one in refused]


@pytest.fixture
def agency(workplace, tmp_path):
    if not choose_sandbox("auto").encloses:
        pytest.skip("an agent is not run without bubblewrap")
    return Agency(workplace, tmp_path / "agent")


@pytest.mark.nightly(
    sibling="tests/app/test_app_inspect.py::test_the_next_brief_has_what_the_last_attempt_failed_by"
)
def test_an_agent_builds_it_however_badly_it_begins(agency):
    shop = agency.shop
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert shop.statuses["TASK-015"] != "DONE"
    assert "TASK-015" in shop.runner("review").out
    assert "secret-scan" in agency.findings("TASK-002")[0]
    assert "scope" in agency.findings("TASK-003")[0]
    assert "loop" in agency.findings("TASK-004")[0]
    assert any(check.startswith(("TC-", "regression")) for check in agency.findings("TASK-013")[0])
    assert "integrity" in " ".join(agency.findings("TASK-014")[0])
    assert shop.runner("approve", "TASK-015").code == 0
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert set(shop.statuses.values()) == {"DONE"}
    assert len(shop.landings) == len(set(shop.landings))
    finished = {path: text for some in agency.files.values() for path, text in some.items()}
    for path in finished.keys() - {"booking/overlap.py", "booking/desk.py"}:
        assert shop.read(path) == finished[path]
    assert RULE in shop.read("booking/overlap.py")
    assert not shop.has("booking/helpers.py")
    assert b"ghp_" not in shop.objects()


def test_a_kill_in_the_middle_of_a_turn_repeats_no_landed_task(agency):
    shop, tasks = agency.shop, script_of(agency.files)
    good = tasks["TASK-002"]["attempts"][-1]
    tasks["TASK-002"] = {"attempts": [[good[0], {"wait": 60}], good]}
    agency.tell(tasks)
    run = shop.start("run", "--trust", "--only", "TASK-001", "--only", "TASK-002")
    try:
        began = time.monotonic()
        while not len(shop.happened("attempt.started", "TASK-002") if _journal(shop) else ()) > 1:
            assert time.monotonic() - began < 120
            time.sleep(0.1)
        time.sleep(1)  # in the middle of its turn
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
    assert shop.landings == ["TASK-001"]
    tasks["TASK-002"] = {"attempts": [good]}
    agency.tell(tasks)
    ended = shop.run("--only", "TASK-001", "--only", "TASK-002")
    assert ended.code == 0, ended.said
    assert shop.landings == ["TASK-001", "TASK-002"]
    assert [one["mode"] for one in shop.happened("attempt.started", "TASK-002")].count("plan") == 1


def _journal(shop):
    return shop.has("artifacts/build/journal.jsonl")
