"""Builds that are watched and answered from the page: what was shown is what is answered."""

import json
import os
import re
import threading
from pathlib import Path

import held_out_plans
import pytest
from held_out_plans import WRONG, told
from site_plans import GREET, HOSTILE, NOTE, journal

PAGES = ("", "/tasks/TASK-001", "/review", "/review/TASK-001", "/plan", "/log")
SLOW = """\
## TASK-003: Slow
- Status: PENDING
- Command: `sleep 60`
- Proof: none — it only waits
"""


def waiting(site):
    return site.api(f"/builds/{site.build}/review")[1]["waiting"]


def test_an_approval_is_of_what_was_shown_and_says_that_it_came_from_the_page(workplace, held):
    (one,) = waiting(held)
    assert one["risk"] == ["writes"]
    answer = f"/builds/{held.build}/approve"
    status, said = held.post(answer, {"item": "TASK-001", "seen": "sha256:0"})
    assert (status, said["error"]["message"]) == (409, "TASK-001 changed since you saw it")
    assert journal(workplace, "write.reviewed") == []
    status, said = held.post(answer, {"item": "TASK-001", "seen": one["seen"]})
    assert (status, said["text"]) == (200, "TASK-001 approved")
    (said,) = {one["producer"] for one in journal(workplace, "write.reviewed")}
    assert said.split()[1:4] == ["via", "page", "by"]
    assert waiting(held) == []
    status, _ = held.post(answer, {"item": "TASK-001", "seen": one["seen"]})
    assert status == 409
    assert workplace.run().code == 0
    assert workplace.read("greet.py") == 'TEXT = "hello"\n'


@pytest.fixture
def failed(workplace, serve, monkeypatch):
    """TASK-001 waits since its held-out tests failed."""
    held_out_plans.failed(workplace, monkeypatch)
    return serve()


def test_failed_held_out_tests_are_shown_to_a_session_that_may_approve(workplace, failed):
    path = f"/b/{failed.build}/review/TASK-001"
    shown = f"/b/{failed.build}/held-out/TASK-001"
    status, said = failed.get(path)
    assert (status, shown in said) == (200, True)
    assert "test_many_items" not in said
    assert "test_many_items" not in json.dumps(failed.api(f"/builds/{failed.build}/review"))
    assert failed.get(shown)[0] != 200
    status, said = failed.form(shown, {}, X_Runner_Secret="another")
    assert (status == 200, "test_many_items" in said) == (False, False)
    status, said = failed.form(shown, {})
    assert (status, "test_many_items" in said) == (200, True)
    (one,) = waiting(failed)
    answer = {"item": "TASK-001", "seen": one["seen"]}
    status, said = failed.form(f"/b/{failed.build}/do/approve", answer)
    assert (status, "needs a reason" in said) == (400, True)
    status, _ = failed.form(f"/b/{failed.build}/do/approve", {**answer, "reason": "by agreement"})
    assert status == 200
    assert workplace.run().code == 0
    assert workplace.read("shop.py") == WRONG["shop.py"]
    task = failed.get(f"/b/{failed.build}/tasks/TASK-001")[1]
    assert "A1: a price is a number" in task.partition(">Acceptance<")[2]
    assert "does not count: waived" in task


def test_no_page_and_no_answer_of_the_api_tells_a_held_out_file(failed):
    build = f"/b/{failed.build}"
    item = failed.get(f"{build}/review/TASK-001")[1]
    assert "not met, by held-out tests TC-002" in item.partition(">Acceptance<")[2]
    described = failed.api("/openapi.json")[1]["paths"]
    paths = [f"/api/v1{path}" for path, ways in described.items() if "get" in ways]
    paths += [f"{build}{rest}" for rest in PAGES]
    filled = {"build": failed.build, "task": "TASK-001", "item": "TASK-001"}
    asked = 0
    for path in paths:
        at = re.sub(r"\{(\w+)(:\w+)?\}", lambda name: filled.get(name[1], "1"), path)
        status, said = failed.get(at, X_Runner_Secret=failed.secret)
        asked += status == 200
        assert told(said) == [], at
    assert asked > len(PAGES)


def test_of_two_answers_at_once_one_wins_and_the_other_is_told(workplace, held):
    (one,) = waiting(held)
    fields = {"item": "TASK-001", "seen": one["seen"]}
    statuses, ready = [], threading.Barrier(2)

    def answer(name, more):
        ready.wait()
        statuses.append(held.post(f"/builds/{held.build}/{name}", fields | more)[0])

    both = [
        threading.Thread(target=answer, args=("approve", {})),
        threading.Thread(target=answer, args=("reject", {"reason": "no"})),
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    statuses.sort()
    assert statuses[0] == 200
    assert statuses[1] in (400, 409)
    said = journal(workplace, "write.reviewed") + journal(workplace, "write.rejected")
    assert len({each["type"] for each in said}) == 1


def test_a_rejection_needs_a_reason_which_the_next_attempt_reads(workplace, held):
    (one,) = waiting(held)
    fields = {"item": "TASK-001", "seen": one["seen"]}
    path = f"/b/{held.build}/do/reject"
    status, said = held.form(path, fields | {"reason": " "})
    assert status == 400
    assert "a rejection needs a reason" in said
    status, said = held.form(path, fields | {"reason": "<b>shout</b>"})
    assert status == 200
    assert "TASK-001 rejected" in said
    assert journal(workplace, "write.rejected")[-1]["reason"] == "<b>shout</b>"


def test_an_edit_is_proven_again_before_it_lands(workplace, held):
    (one,) = waiting(held)
    text = 'TEXT = "hello"\r\nMORE = 1\r\n'  # as a form sends it
    fields = {"item": "TASK-001", "seen": one["seen"], "file:greet.py": text}
    status, said = held.form(f"/b/{held.build}/do/edit", fields)
    assert status == 200
    assert "TASK-001 edited" in said
    assert workplace.run().code == 0
    assert workplace.read("greet.py") == 'TEXT = "hello"\nMORE = 1\n'


def test_a_run_begun_here_outlives_the_server_and_is_stopped_from_another(workplace, serve):
    workplace.plan(GREET, SLOW)
    assert workplace.run("TASK-001").code == 0  # which trusts the plan's commands
    site = serve()
    status, said = site.post(f"/builds/{site.build}/run", {})
    assert (status, said["text"]) == (200, "the build has started")
    site.close()
    other = serve()
    assert other.api(f"/builds/{other.build}")[1]["run"] is not None
    assert other.post(f"/builds/{other.build}/stop", {})[0] == 200
    other.until(lambda: other.api(f"/builds/{other.build}")[1]["run"] is None)
    status, said = other.post(f"/builds/{other.build}/stop", {})
    assert (status, said["error"]["message"]) == (409, "no run is active in this folder")


def test_a_run_begun_here_trusts_nothing(workplace, site):
    status, said = site.post(f"/builds/{site.build}/run", {})
    assert status == 200
    assert said["tone"] != "done"
    assert not workplace.has("greet.py")


PROGRAM = """\
import time
number = int(time.time() * 10) % 10**8
print("~~~~markdown draft")
print(f"## TASK-{number:03}: Tell the error\\n\\n- Output files: `hello.txt`")
print(f"- Test contracts:\\n  - TC-{number:03} (unit): `grep -q hello hello.txt`")
print(f"~~~~\\n\\n~~~~asked\\n- tell the error: TASK-{number:03}\\n~~~~")
"""


def let_draft(tmp_path, line=""):
    program = tmp_path / "program" / "program.py"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM)
    mine = Path(os.environ["XDG_CONFIG_HOME"]) / "runner/runner.toml"
    mine.parent.mkdir(parents=True, exist_ok=True)
    line = line or f"python3 {program}"
    mine.write_text(f'build.command = "{line}"\nsandbox.read = ["{program.parent}"]\n')


def test_a_wish_is_drafted_for_the_plan_that_is_served_whatever_words_are_in_it(
    workplace, serve, tmp_path
):
    let_draft(tmp_path)
    workplace.plan(GREET)
    workplace.commit({"other.md": f"# Other\n\n{NOTE}"})
    words = ("draft", "--trust", "--task-graph", "other.md", "tell the error")
    assert workplace.runner(*words).code == 3
    site = serve("--task-graph", "other.md")
    build = f"/builds/{site.build}"
    status, said = site.post(f"{build}/draft", {"wish": "tell the error once more"})
    assert (status, said.get("text")) == (200, "the draft is being written"), said
    (one,) = site.until(lambda: [one for one in waiting(site) if "DRAFT-2" in one.values()])
    fields = {"item": "DRAFT-2", "seen": one["seen"], "reason": "shorter"}
    assert site.post(f"{build}/reject", fields)[0] == 200
    assert site.until(lambda: journal(workplace, "draft.proposed")[2:])
    assert [one["plan"] for one in journal(workplace, "draft.proposed")] == ["other.md"] * 3


def test_a_wish_that_is_not_drafted_says_why(workplace, site, tmp_path):
    """Whoever wishes would else wait for a draft that never comes, under an empty box."""

    def why():
        """What is said once it is said in time, which a busy machine may need another try for."""
        status, said = site.post(f"/builds/{site.build}/draft", {"wish": "more"})
        return status == 400 and said["error"]["message"]

    assert "no agent or model can draft" in site.until(why)
    let_draft(tmp_path, "echo")
    assert "commands are not trusted yet" in site.until(why)
    assert workplace.runner("draft", "--trust", "more").code == 1
    assert site.until(why).startswith("no usable draft: draft:1: the answer has no fenced block")


def test_a_plan_is_saved_byte_for_byte_or_not_at_all(workplace, site):
    plan = site.api(f"/builds/{site.build}/plan")[1]
    path = f"/b/{site.build}/do/plan"
    before = (workplace.root / "TASK-GRAPH.md").read_bytes()
    text = plan["text"].replace("\n", "\r\n")
    assert site.form(path, {"seen": plan["seen"], "text": text})[0] == 200
    assert (workplace.root / "TASK-GRAPH.md").read_bytes() == before
    workplace.edit_plan("Greeting", "Salutation")
    status, said = site.form(path, {"seen": plan["seen"], "text": text})
    assert status == 409
    assert "the plan changed since you opened it" in said
    assert "Salutation" in workplace.read("TASK-GRAPH.md")


def test_a_graph_that_was_asked_for_stays_when_the_page_is_drawn_anew(site):
    """One of hundreds of tasks is drawn for who asks, and would be gone with the next event."""
    for path in (f"/b/{site.build}", f"/b/{site.build}?graph"):
        assert f'hx-get="{path}"' in site.get(path)[1]


def test_hostile_texts_are_shown_as_texts(workplace, serve):
    assert len(HOSTILE) >= 30
    tasks = [
        GREET.replace("TASK-001", f"TASK-{number:03d}")
        .replace("Greeting", text)
        .replace("greet", f"greet{number}")
        .replace("- Status: PENDING", f"- Status: BLOCKED — {text}\n- Acceptance:\n  - {text}")
        for number, text in enumerate(HOSTILE, start=1)
    ]
    workplace.plan(*tasks, title="<script>window.hit=1</script>")
    site = serve()
    pages = ["", "/review", "/plan", "/plan?edit", "/log", "/log?task=TASK-001", "/time", "/new"]
    pages += [f"/tasks/TASK-{number:03d}" for number in range(1, len(HOSTILE) + 1)]
    for path in pages:
        status, body = site.get(f"/b/{site.build}{path}")
        assert status == 200, (path, body)
        low = body.lower()
        for markup in (
            "<script>",
            "<img",
            "<svg onload",
            "<iframe",
            "<style",
            "<base",
            "<b data",
            "<a href=javascript",
            "<div hx-get=/b ",
            "<math",
            "<form action",
            " style=",
        ):
            assert markup not in low, (path, markup)
        if path != "/plan?edit":  # there the bytes stand as they are
            for sign in ("\u202e", "\u200b", "\x1b"):
                assert sign not in body, path
