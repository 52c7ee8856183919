"""Processes of the page: killed at any point, and gone once a run has ended."""

import json
import os
import shutil
import signal
import sys
import time

import psutil
import pytest
from commands_terminal import Terminal
from site_plans import GREET, NOTE, journal
from site_process import PATIENCE, Client

from runner import effects
from runner.app.answer.waiting import list_waiting
from runner.app.answer.waiting_document import digest_shown
from runner.repo.read import Repository
from runner.serve.application import FormInput, approve_item, reject_item, retry_task, save_plan
from runner.serve.builds import Build

MOST = 400


def waiting(build):
    project = build.open()
    with Repository.open(project.root) as repository:
        state = project.state()
        known = list_waiting(project, repository, state)
        return {one.task: digest_shown(project, state, one) for one in known if not one.answered}


def killed_at(number, act):
    """Whether the process that acts reached its effect of this number, and died there."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def count(_kind, _target):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        effects.watch(count)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status != 0


@pytest.fixture
def build(workplace):
    """Two things wait in it; as it stands is kept beside it."""
    workplace.plan(GREET, NOTE)
    assert workplace.run("--review", "prompt").code == 3
    kept = workplace.root.parent / "kept"
    shutil.copytree(workplace.root, kept, symlinks=True)
    return Build("shop", workplace.root, dict(os.environ)), kept


def as_it_was(workplace, kept):
    shutil.rmtree(workplace.root)
    shutil.copytree(kept, workplace.root, symlinks=True)


@pytest.mark.parametrize(
    ("act", "more", "kind"),
    [
        (approve_item, {}, "write.reviewed"),
        (reject_item, {"reason": "say good morning"}, "write.rejected"),
    ],
)
def test_an_answer_killed_at_any_step_is_one_decision_or_none(workplace, build, act, more, kind):
    served, kept = build
    seen = waiting(served)["TASK-001"]
    given = FormInput({"item": "TASK-001", "seen": seen, **more})
    ended = []
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: act(served, given)):
            break
        said = [one for one in journal(workplace, kind) if " via page by " in one["producer"]]
        assert len(said) <= 1, number
        ended.append(len(said))
        if said:  # it counts: whoever asks again is told
            assert "TASK-001" not in waiting(served), number
        else:  # it can be given still, and is one then
            act(served, given)
            said = [one for one in journal(workplace, kind) if " via page by " in one["producer"]]
            assert len(said) == 1, number
    assert sorted(ended) == ended, "a decision that was there is gone"
    assert set(ended) == {0, 1}
    assert workplace.runner("log").code == 0


def test_a_plan_saved_here_is_the_old_one_or_the_new_one(workplace, build):
    served, kept = build
    from runner.app.write.workplace import EditableText

    old = (workplace.root / "TASK-GRAPH.md").read_bytes()
    text = EditableText.of(old)
    new = text.text.replace("Greeting", "Salutation")
    given = FormInput({"seen": text.digest, "text": new})
    seen = set()
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: save_plan(served, given)):
            break
        seen.add((workplace.root / "TASK-GRAPH.md").read_bytes())
    assert seen <= {old, old.replace(b"Greeting", b"Salutation")}
    assert old in seen
    assert workplace.runner("validate").code == 0


def test_a_task_that_is_asked_for_again_is_so_once_or_not(workplace):
    workplace.plan(GREET.replace("'hello'", "'good day'"))
    assert workplace.run().code == 1
    kept = workplace.root.parent / "kept"
    shutil.copytree(workplace.root, kept, symlinks=True)
    served = Build("shop", workplace.root, dict(os.environ))
    asked = FormInput({"task": "TASK-001", "reason": "look at the test"})
    ended = []
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: retry_task(served, asked)):
            break
        ended.append(len(journal(workplace, "task.approved")))
    assert set(ended) == {0, 1}
    assert sorted(ended) == ended


WAITS = """\
## TASK-001: Greeting
- Status: PENDING
- Output files: `greet.py`
- Command: `echo "TEXT = 'hello'" > greet.py; until test -e "$GO_ON"; do sleep 0.1; done`
- Test contracts:
  - TC-001 (unit): `python3 -c "import greet; assert greet.TEXT == 'hello'"`
"""


def servers_of(workplace):
    """The servers that stand in this project's folder."""
    found = []
    for one in psutil.process_iter(["cmdline", "cwd", "status"]):
        words = one.info["cmdline"] or []
        if "--until-closed" in words and one.info["cwd"] == str(workplace.root):
            found.append(one.pid)
    return found


def gone(workplace):
    until = time.monotonic() + PATIENCE
    while servers_of(workplace):
        assert time.monotonic() < until, "the server goes on"
        time.sleep(0.1)
    return True


@pytest.fixture
def go_on(workplace, tmp_path, monkeypatch):
    """A file for which the task waits."""
    workplace.plan(WAITS)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    mark = tmp_path / "go-on"
    workplace.edit_plan('"$GO_ON"', str(mark))
    workplace.commit(message="plan")
    return mark


def test_the_page_shows_the_run_and_ends_with_it(workplace, go_on):
    run = workplace.start("run", "--serve", "--trust", "--json")
    first = run.stderr.readline()
    assert first.startswith("page: http://127.0.0.1:"), first
    client = Client(first.removeprefix("page: ").strip(), workplace.root)
    assert client.enter() == 200
    until = time.monotonic() + PATIENCE
    while client.api(f"/builds/{client.build}")[1]["run"] is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    go_on.touch()
    said, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, errors
    assert json.loads(said)["counts"] == {"DONE": 1}
    assert gone(workplace)


def test_a_run_that_is_killed_leaves_no_server(workplace, go_on):
    run = workplace.start("run", "--serve", "--trust", "--review", "off")
    assert run.stderr.readline().startswith("page: ")
    assert servers_of(workplace)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    assert gone(workplace)
    go_on.touch()


def test_on_a_terminal_the_page_stays_until_it_is_ended(workplace, go_on):
    go_on.touch()
    words = (sys.executable, "-m", "runner", "run", "--serve", "--trust", "--review", "off")
    with Terminal(words, cwd=workplace.root, columns=200) as terminal:
        terminal.until("the page is still being served; press Ctrl-C to stop")
        assert "1 DONE" in terminal.said
        assert servers_of(workplace)
        terminal.send("\x03")
        assert terminal.wait() == 0
    assert gone(workplace)


def test_what_keeps_the_page_from_starting_is_said_before_anything_is_built(workplace, go_on):
    go_on.touch()
    run = workplace.start("run", "--serve", "--trust", "--task-graph", "other.md")
    _, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    where = workplace.root / "other.md"
    assert errors.startswith(f"runner: the status page did not start: plan not found ({where})\n")
    assert not workplace.has("greet.py")
