"""The plug-in for an assistant: what its session changed is proven before it stops."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from workplace import a_task

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
GOOD, BAD = "def cents(x):\n    return round(x * 100)\n", "def cents(x):\n    return 0\n"
TEST = "python3 -c 'from money import cents; assert cents(1.5) == 150, cents(1.5)'"


@pytest.fixture
def built(workplace):
    """A repository with one proven task."""
    workplace.plan(a_task("TASK-001", "Money", blocks={"money.py": GOOD}, tests=[TEST]))
    assert workplace.run().code == 0
    return workplace


@pytest.fixture
def hear(built, monkeypatch):
    """Hands an event of a session to `runner hook`, as the program does."""

    def hand(event, session="s-1", folder=None, **more):
        row = {"hook_event_name": event, "session_id": session, **more}
        row["cwd"] = str(built.root) if folder is None else folder
        said = json.dumps(row).encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(said)))
        return built.runner("hook")

    return hand


def test_what_fails_on_a_sessions_changes_is_sent_back_until_it_is_mended(built, hear):
    # A person's unfinished work is not its fault.
    built.write({"money.py": BAD})
    hear("SessionStart", "s-0")
    built.write({"notes.txt": "x\n"})
    assert (hear("Stop", "s-0").code, hear("Stop", "s-0").said) == (0, "")
    built.write({"money.py": BAD + "# and more\n"})
    assert hear("Stop", "s-0").code == 2
    built.write({"money.py": GOOD})

    assert (hear("SessionStart").code, hear("Stop").said) == (0, "")
    built.write({"money.py": BAD})
    said = hear("Stop")
    assert said.code == 2
    assert "the plan's tests fail after this session's changes (money.py):" in said.err
    assert "TASK-001 TC-001 failed" in said.err
    assert "AssertionError: 0" in said.err
    built.write({"money.py": GOOD + "# mended\n"})
    assert (hear("Stop").code, hear("Stop").said) == (0, "")

    # What the session has committed counts, too.
    built.commit({"money.py": BAD})
    assert hear("Stop").code == 2


def test_notes_that_another_session_takes_away_meanwhile_harm_nobody(built, hear, monkeypatch):
    hear("SessionStart")
    (folder,) = {path.parent for path in built.home.rglob("s-1.json")}
    for number in range(30):
        (folder / f"old-{number}.json").write_text("{}")
    stat = Path.stat

    def swept_first(path, **options):
        if path.parent == folder:
            for old in folder.glob("old-1*.json"):
                old.unlink()
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", swept_first)
    assert hear("SessionStart", session="s-2").code == 0
    monkeypatch.undo()
    assert (folder / "s-2.json").exists()


def test_it_is_kept_three_times_and_then_the_person_is_told(built, hear):
    hear("SessionStart")
    built.write({"money.py": BAD})
    assert [hear("Stop", stop_hook_active=True).code for _ in range(4)] == [2, 2, 2, 0]
    told = json.loads(hear("Stop").out)["systemMessage"]
    assert told == "runner: 1 test still failing after 3 reminders: runner impact --run"
    assert hear("Stop", session="s-2").code == 2


def test_commands_that_nobody_trusts_do_not_run_and_nobody_is_held(workplace, hear):
    hear("SessionStart")
    shutil.rmtree(workplace.home / "state")
    workplace.write({"money.py": BAD})
    said = hear("Stop")
    assert said.code == 0
    assert "not tested" in json.loads(said.out)["systemMessage"]


def test_a_folder_without_a_plan_and_an_odd_session_harm_nobody(hear):
    odd = (
        ("s-1", "/"),
        ("s-1", "/nowhere"),
        ("../../../etc/x", None),
        ("", None),
        ("é" * 900, None),
    )
    for session, folder in odd:
        codes = [hear(event, session, folder).code for event in ("SessionStart", "Stop")]
        assert codes == [0, 0], (session, folder)


def test_without_a_note_of_its_begin_all_that_differs_from_head_counts(built, hear):
    built.write({"money.py": BAD})
    assert hear("Stop", session="late").code == 2
    for note in (b"[]", b"{", b'{"head": 3, "before": 4, "sent_back": "x"}'):
        (place,) = (built.home / "cache").rglob("sessions/late.json")
        place.write_bytes(note)
        assert hear("Stop", session="late").code == 2


# --- its folder -------------------------------------------------------------------------


def head_of(path):
    text = path.read_text()
    assert text.startswith("---\n")
    return yaml.safe_load(text.split("---\n")[1])


def test_its_parts_are_there_and_say_what_they_are_for():
    commands = {path.stem for path in (PLUGIN / "commands").glob("*.md")}
    assert commands == {"status", "why", "draft", "review"}
    skills = {path.parent.name for path in (PLUGIN / "skills").glob("*/SKILL.md")}
    assert skills == {"write-a-plan", "check-a-plan"}
    for path in PLUGIN.rglob("*.md"):
        if path.name != "README.md":
            assert head_of(path)["description"]
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    assert set(hooks) == {"SessionStart", "Stop"}


def test_no_command_of_it_may_decide_for_a_person():
    for path in (PLUGIN / "commands").glob("*.md"):
        allowed = head_of(path)["allowed-tools"]
        assert not {"approve", "reject", "waive", "trust"} & set(allowed.replace(":", " ").split())


@pytest.mark.skipif(shutil.which("claude") is None, reason="claude is not on PATH")
def test_the_real_program_finds_nothing_wrong_with_it_and_installs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")

    def claude(*words):
        done = subprocess.run(
            ["claude", "plugin", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    claude("validate", "--strict", str(PLUGIN))
    claude("validate", "--strict", str(ROOT))
    claude("marketplace", "add", str(ROOT))
    claude("install", "runner@task-graph-runner")
    listed = claude("details", "runner")
    assert "check-a-plan, draft, review, status, why, write-a-plan" in listed
    assert "SessionStart, Stop" in listed
