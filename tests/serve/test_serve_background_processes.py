"""`runner run --serve`: a page for as long as the run goes on, and no process left behind it."""

import json
import signal
import sys
import time

import psutil
import pytest
from commands_terminal import Terminal
from site_process import PATIENCE, Client

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
