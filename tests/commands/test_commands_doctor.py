"""`doctor` and `settings`: what is there, what holds, what is missing."""

import os
import re
from pathlib import Path
from shutil import which

import pytest
from commands_build import a_ground, began, done

from runner.config.trust import Trust
from runner.journal.lock import RunLock
from runner.process import sandbox
from runner.project import BUILD, JOURNAL


def found(said, name):
    """(state, text) of each sign of that name."""
    return [(sign["state"], sign["text"]) for sign in said.json["signs"] if sign["name"] == name]


def test_a_healthy_project_is_healthy(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *done(ground, "TASK-001"))
    Trust(ground.project().places.state).give(ground.folder, "test")
    said = ground.runner("doctor", "--json")
    assert said.code == 0
    assert (said.json["kind"], said.json["healthy"]) == ("doctor", True)
    assert found(said, "plan") == [("ok", "TASK-GRAPH.md: 1 task, 0 mistakes, 0 warnings")]
    assert found(said, "branch") == [("ok", "main")]
    assert found(said, "trust") == [("ok", "given")]
    assert found(said, "run") == [("ok", "none active")]
    size = (ground.folder / JOURNAL).stat().st_size
    assert found(said, "journal")[0][1].startswith(f"4 records, {size / 1024:.0f} KiB, intact")
    assert [sign["state"] for sign in said.json["signs"] if sign["name"] == "python"] == ["ok"]
    assert [sign["state"] for sign in said.json["signs"] if sign["name"] == "git"] == ["ok"]


def test_what_is_missing_is_said_with_what_to_do(ground, monkeypatch):
    a_ground(ground, "A; B")
    plan = ground.folder / "TASK-GRAPH.md"
    head, tail = plan.read_text().split("## TASK-002")
    needs = "- Requires: tool no-such-tool, secret FIRST_KEY, secret SECOND_KEY\n- Output"
    plan.write_text(
        head.replace("- Output", needs) + "## TASK-002" + tail.replace("`true`", "`sudo x`")
    )
    monkeypatch.setenv("SECOND_KEY", "whatever it is")
    said = ground.runner("doctor")
    assert said.code == 3
    assert "missing  tool no-such-tool  not on PATH; TASK-001 needs it\n" in said.out
    assert "missing  secret FIRST_KEY   not set; TASK-001 needs it\n" in said.out
    assert "ok       secret SECOND_KEY  set\n" in said.out
    assert "note     root               TASK-002 will be BLOCKED: do it yourself\n" in said.out
    assert "hint: tool no-such-tool: install no-such-tool\n" in said.out
    assert "hint: secret FIRST_KEY: export FIRST_KEY=…\n" in said.out
    assert "hint: trust: runner run --dry-run\n" in said.out
    assert "whatever it is" not in said.out
    assert "tool sudo" not in said.out


def test_the_programs_of_a_shell_line_are_looked_for_and_not_its_mark(ground):
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    gates = "- Gates:\n  - both: `sh: true && no-such-tool x`\n- Output"
    plan.write_text(plan.read_text().replace("- Output", gates, 1))
    said = ground.runner("doctor", "--json")
    assert found(said, "tool sh:") == []
    assert [state for state, _ in found(said, "tool no-such-tool")] == ["note"]


@pytest.mark.skipif(which("bwrap") is None, reason="needs bubblewrap")
def test_a_tool_that_the_sandbox_hides_is_missing_and_its_hint_shows_it(
    ground, monkeypatch, tmp_path
):
    """The folder lies in /tmp or a home, which are empty in the sandbox; a link leads elsewhere."""
    real = tmp_path / "opt/node_modules/hidden/bin/hidden-tool"
    link = tmp_path / "bin" / "hidden-tool"
    for folder in (real.parent, link.parent):
        folder.mkdir(parents=True)
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link.symlink_to(real)
    monkeypatch.setenv("PATH", f"{link.parent}:{os.environ['PATH']}")
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("`true`", "`hidden-tool`", 1))
    settings = Path(os.environ["HOME"]) / ".config" / "runner" / "runner.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    said = ground.runner("doctor", "--json")
    sign = next(one for one in said.json["signs"] if one["name"] == "tool hidden-tool")
    assert (sign["state"], said.code) == ("missing", 3)
    assert sign["text"] == f"{link} is hidden by the sandbox; TASK-001 needs it"
    assert f'"{tmp_path}/opt/node_modules"' in sign["hint"]  # with all that it loads
    settings.write_text(sign["hint"].removesuffix(" in ~/.config/runner/runner.toml") + "\n")
    assert found(ground.runner("doctor", "--json"), "tool hidden-tool") == [("ok", str(link))]


def test_a_plan_with_mistakes_is_wrong(ground):
    a_ground(ground, "A needs Z")
    said = ground.runner("doctor", "--json")
    assert said.code == 3
    assert found(said, "plan") == [("wrong", "TASK-GRAPH.md: 1 task, 1 mistake, 0 warnings")]


def test_without_git_or_plan_it_still_looks_at_the_machine(ground):
    said = ground.runner("doctor", "--json")
    assert said.code == 3
    place = f"this folder is not in a git repository ({ground.folder})"
    assert found(said, "repository") == [("missing", place)]
    ground.git("init", "-q")
    said = ground.runner("doctor", "--json")
    assert found(said, "plan") == [
        ("missing", f"TASK-GRAPH.md not found ({ground.folder}/TASK-GRAPH.md)")
    ]
    assert found(said, "branch") == [("ok", "no commit yet")]


def test_states_of_a_repository_that_tasks_do_not_see_are_named(ground):
    a_ground(ground, "A")
    ground.write(".gitattributes", "*.bin filter=lfs\n")
    ground.commit()
    ground.write("untracked.txt", "x")
    ground.write(".gitattributes", "*.bin filter=lfs -text\n")
    ground.git("config", "core.autocrlf", "true")
    ground.git("checkout", "-q", "--detach")
    texts = [text for _, text in found(ground.runner("doctor", "--json"), "git state")]
    assert texts == [
        "HEAD is detached: commits land on no branch",
        "tasks see Git LFS files as pointers",
        "line endings are converted on checkout",
        "1 file with uncommitted changes",
        "1 untracked file that tasks can't see",
    ]


def test_a_run_that_is_going_on_is_named(ground):
    a_ground(ground, "A")
    with RunLock(ground.folder / BUILD):
        text = found(ground.runner("doctor", "--json"), "run")[0][1]
    assert text.startswith(f"active: process {os.getpid()}, since ")


def test_a_damaged_journal_is_found(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *done(ground, "TASK-001"))
    journal = ground.folder / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b"attempt.started", b"attempt.STARTED"))
    said = ground.runner("doctor", "--json")
    assert said.code == 3
    [(state, text)] = found(said, "journal")
    assert state == "missing"
    assert text.startswith("the journal is damaged: line 2")


def test_settings_say_where_each_value_comes_from(ground, monkeypatch):
    a_ground(ground, "A")
    ground.write(
        "runner.toml",
        'build.attempts = 3\n\n[gates]\nlint = "ruff check"\n\n[gates.api]\nunits = "make units"\n',
    )
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "7")
    said = ground.runner("settings")
    assert said.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in said.out.splitlines()}
    assert rows["SETTING"] == ["VALUE", "SOURCE"]
    assert rows["build.jobs"] == ["7", "environment", "RUNNER_BUILD_JOBS"]
    assert rows["build.attempts"] == ["3", "runner.toml:1"]
    assert rows["gates"][:3] == ["lint:", "ruff", "check"]
    assert rows["gates_by_type"][:3] == ["api", "(units:", "make"]
    assert "budget.minutes" not in rows
    every = ground.runner("settings", "--all").out
    assert re.search(r"^budget\.minutes +30 +default$", every, re.MULTILINE)
    assert re.search(r"^build\.backoff +1 +default +rarely needed$", every, re.MULTILINE)
    cloned = ground.runner("settings", "--from-repository").out
    assert [line.split()[0] for line in cloned.splitlines()[1:]] == [
        "build.attempts",
        "gates",
        "gates_by_type",
    ]
    document = ground.runner("settings", "--json").json
    assert document["kind"] == "settings"
    assert document["settings"]["build.jobs"] == {
        "value": 7,
        "source": "environment RUNNER_BUILD_JOBS",
        "common": True,
    }


def test_settings_need_no_plan_but_no_mistakes(ground):
    ground.git("init", "-q")
    assert ground.runner("settings").code == 0
    ground.write("runner.toml", "attmepts = 3\n")
    said = ground.runner("settings")
    assert said.code == 2
    assert "attmepts" in said.err


def test_a_merge_that_was_begun_is_to_be_ended_first(ground):
    a_ground(ground, "A")
    (ground.folder / ".git" / "MERGE_HEAD").write_text(ground.git("rev-parse", "HEAD") + "\n")
    said = ground.runner("doctor", "--json")
    assert said.code == 3
    assert ("missing", "a merge is in progress") in found(said, "git state")


def test_without_a_sandbox_it_says_what_that_means(ground, monkeypatch):
    a_ground(ground, "A")
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    assert found(ground.runner("doctor", "--json"), "sandbox") == [
        ("note", 'none, so commands run with all your permissions: sandbox.kind = "none"')
    ]


def test_a_closed_bubblewrap_is_said_by_doctor_and_run_with_what_opens_it(
    ground, monkeypatch, tmp_path
):
    a_ground(ground, "A")
    fake = tmp_path / "closed" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: no namespace for you' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "auto")
    sandbox._probe.cache_clear()
    (state, text), *others = found(ground.runner("doctor", "--json"), "sandbox")
    ran = ground.runner("run", "--trust")
    sandbox._probe.cache_clear()
    assert state == "note"
    assert "bwrap: no namespace for you" in text
    assert all(one.startswith("landlock would not enforce: ") for _, one in others)
    assert "without a sandbox: bwrap: no namespace for you" in ran.err
    assert f"to isolate them: {sandbox.explain_opening()}" in ran.err
    assert ("Landlock would isolate them, but: " in ran.err) == bool(others)


def test_without_git_on_the_path_it_says_so(ground, monkeypatch, tmp_path):
    a_ground(ground, "A")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = ground.runner("doctor", "--json")
    assert said.code == 3
    assert found(said, "git") == [("missing", "not on PATH")]
    assert found(said, "repository") == []


def test_a_compiler_that_the_project_needs_and_nobody_has_is_said_beforehand(ground, monkeypatch):
    a_ground(ground, "A")
    ground.write("runner.toml", '[compile]\n"*.foo" = "fooc-nobody-has {file}"\n')
    ground.commit()
    said = ground.runner("doctor")
    assert said.code == 3
    assert "fooc-nobody-has" in said.out


def test_an_agent_program_that_is_not_there_is_missing_with_the_way_to_get_it(ground, monkeypatch):
    a_ground(ground, "A")
    ground.write("TASK-GRAPH.md", "# P\n\n## TASK-001: One\n\n- Implementer: agent\n")
    assert found(ground.runner("doctor", "--json"), "agent") == [
        ("missing", "TASK-001 needs an agent program, but the settings name none")
    ]
    monkeypatch.setenv("RUNNER_AGENT_COMMAND", "my-agent --plain")
    assert found(ground.runner("doctor", "--json"), "agent") == [("ok", "my-agent --plain")]


def test_the_program_that_reviews_is_looked_for(ground, monkeypatch):
    a_ground(ground, "A")
    assert found(ground.runner("doctor", "--json"), "review.command") == []
    for line, state in (("/no/such -x", "missing"), ("A=1 git diff", "ok"), ("{ true; }", "note")):
        monkeypatch.setenv("RUNNER_REVIEW_COMMAND", line)
        assert [one[0] for one in found(ground.runner("doctor", "--json"), "review.command")] == [
            state
        ]


def test_settings_are_shown_outside_of_a_repository_too(ground):
    """Who operates a worker stands in none, and looks for the file to write them into."""
    said = ground.runner("settings", "--json")
    assert said.code == 0, said
    assert said.json["settings"]["team.worker_folders"]["value"] == []
    assert "runner.toml (does not exist yet)" in said.err
