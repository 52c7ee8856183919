"""What leaves the machine on a person's word: notices, draft pull requests, and a ship's."""

import json
import os
from pathlib import Path

import pytest
from forge import Forge
from scripted_agent import Script, writes
from workplace import a_task

DRAFT = "draft/TASK-001-work"


@pytest.fixture
def forge(workplace, tmp_path, monkeypatch):
    return Forge(workplace, tmp_path, monkeypatch)


def stuck(workplace, monkeypatch):
    Script({"TASK-001": [writes({"a.txt": "bad\n"})]}).installed(monkeypatch)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], tests=["grep -q good a.txt"]))


# --- notices --------------------------------------------------------------------------


def test_a_run_that_needs_a_person_tells_them_once(workplace, monkeypatch, tmp_path):
    stuck(workplace, monkeypatch)
    monkeypatch.setenv("RUNNER_NOTIFY_COMMAND", f"cat >> {tmp_path}/notice")
    assert workplace.run().code == 5
    (line,) = (tmp_path / "notice").read_text().splitlines()
    said = json.loads(line)
    assert said["ending"] == "stopped"
    assert (said["kind"], said["exit"], said["project"]) == ("attention", 5, "shop")
    assert said["blocked"][0]["id"] == "TASK-001"
    assert said["blocked"][0]["draft"] == DRAFT
    assert said["meaning"] == "a budget was used up, or attempts repeated themselves"


def test_nobody_is_told_of_what_went_well(workplace, monkeypatch, tmp_path):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    monkeypatch.setenv("RUNNER_NOTIFY_COMMAND", f"cat > {tmp_path}/notice")
    assert workplace.run().code == 0
    assert not (tmp_path / "notice").exists()
    monkeypatch.setenv("RUNNER_NOTIFY_ON", "done")
    workplace.plan(a_task("TASK-002", blocks={"b.txt": "b"}))
    assert workplace.run("--yes").code == 0
    assert json.loads((tmp_path / "notice").read_text())["ending"] == "done"


def test_a_notice_that_fails_changes_nothing(workplace, monkeypatch):
    stuck(workplace, monkeypatch)
    monkeypatch.setenv("RUNNER_NOTIFY_COMMAND", "echo no network; exit 7")
    ended = workplace.run()
    assert ended.code == 5
    assert "warning: notify.command failed (exit 7): no network" in ended.err


def test_nothing_is_pushed_unasked_and_a_repository_may_set_neither(
    workplace, forge, monkeypatch, tmp_path
):
    stuck(workplace, monkeypatch)
    text = f'notify.command = "touch {tmp_path}/pwned"\ngit.draft_pr = true\n'
    workplace.commit({"runner.toml": text})
    ended = workplace.run()
    assert ended.code == 5
    assert "notify.command is ignored" in ended.err
    assert "draft_pr is ignored" in ended.err
    assert not (tmp_path / "pwned").exists()
    assert not forge.has(DRAFT)
    assert forge.asked == []


# --- drafts ---------------------------------------------------------------------------


def test_work_that_did_not_pass_becomes_a_draft_pull_request(workplace, forge, monkeypatch):
    stuck(workplace, monkeypatch)
    ended = workplace.run("--draft-pr")
    assert ended.code == 5
    assert "TASK-001: draft pull request https://forge.test/pull/1" in ended.err
    assert forge.has(DRAFT) == workplace.git("rev-parse", DRAFT)
    (made,) = forge.made
    assert made["words"][2:4] == ["--head", DRAFT]
    assert "--draft" in made["words"]
    assert made["words"][-2:] == ["--label", "needs-manual-fix"]
    assert "- TC-001 **fails**" in made["body"]


def test_a_label_that_is_not_there_does_not_matter(workplace, forge, monkeypatch):
    stuck(workplace, monkeypatch)
    monkeypatch.setenv("NO_LABEL", "1")
    assert "draft pull request https://" in workplace.run("--draft-pr").err
    assert "--label" not in forge.made[-1]["words"]


def test_without_a_remote_the_draft_stays_here(workplace, monkeypatch):
    stuck(workplace, monkeypatch)
    ended = workplace.run("--draft-pr")
    assert ended.code == 5
    assert "cannot open draft pull requests: git has no remote" in ended.err


# --- a ship ---------------------------------------------------------------------------


@pytest.fixture
def done(workplace):
    workplace.plan(a_task("TASK-001", "Salt", blocks={"a.txt": "a"}, tests=["test -f a.txt"]))
    workplace.git("switch", "-q", "-c", "work")
    assert workplace.run().code == 0
    return workplace


def test_what_is_missing_is_said_before_anything_is_shipped(done, forge, monkeypatch):
    (forge.bin / "gh").unlink()
    for folder in os.defpath.split(os.pathsep):
        for program in Path(folder).glob("*"):
            link = forge.bin / program.name
            if program.name != "gh" and not (link.exists() or link.is_symlink()):
                link.symlink_to(program)
    monkeypatch.setenv("PATH", str(forge.bin))
    ended = done.runner("ship", "--pr", "--trust")
    assert ended.code == 2
    assert "gh is not installed" in ended.err
    done.git("remote", "remove", "origin")
    assert "git has no remote" in done.runner("ship", "--pr", "--trust").err
    assert done.happened("ship.declared") == []


def test_the_branch_that_requests_go_into_is_no_branch_for_one(done, forge):
    done.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/work")
    ended = done.runner("ship", "--pr", "--trust")
    assert (ended.code, done.happened("ship.declared")) == (3, [])
    assert "work is the branch that pull requests to origin target" in ended.err
    assert "git switch -c ship-shop" in ended.err
    # The remote is asked for it where the clone does not know it.
    done.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    done.git("push", "-q", "origin", "work")
    done.git(f"--git-dir={forge.bare}", "symbolic-ref", "HEAD", "refs/heads/work")
    ended = done.runner("ship", "--pr", "--trust", "--tag", "v1")
    assert (ended.code, done.happened("ship.declared")) == (3, [])
    assert "work is the branch that pull requests to origin target" in ended.err
    assert not forge.has("v1")
    done.git("switch", "-q", "-c", "else")
    forge.bare.rename(forge.bare.with_name("gone"))
    ended = done.runner("ship", "--pr", "--trust", "--tag", "v1")
    assert (ended.code, done.happened("ship.declared")) == (3, [])
    assert "cannot find the default branch of origin" in ended.err


def test_nothing_is_ever_forced(done, forge):
    done.git("push", "-q", "origin", "work")
    done.git("clone", "-q", "-b", "work", str(forge.bare), str(forge.bin / "other"))
    other = f"--git-dir={forge.bin}/other/.git"
    author = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org")
    done.git(*author, other, "commit", "-q", "--allow-empty", "-m", "theirs")
    done.git(other, "push", "-q", "origin", "work")
    theirs = forge.has("work")
    ended = done.runner("ship", "--pr", "--trust")
    assert ended.code == 6, ended.said
    assert "the push to origin failed" in ended.err
    assert forge.has("work") == theirs
    assert forge.made == []


def test_the_repositorys_configuration_names_no_program_for_a_push(
    workplace, forge, monkeypatch, tmp_path
):
    stuck(workplace, monkeypatch)
    line = f"touch {tmp_path}/pwned; git-receive-pack"
    workplace.git("config", "remote.origin.receivepack", line)
    workplace.git("config", "core.fsmonitor", f"touch {tmp_path}/pwned; false")
    workplace.git("config", f"url.ext::touch {tmp_path}/pwned .insteadOf", str(forge.bare))
    workplace.git("config", "protocol.ext.allow", "always")
    asks_git = 'import subprocess; subprocess.run(["git", "status"], stdout=2)\n'
    program = forge.bin / "gh"
    program.write_text(program.read_text().replace("import json", f"{asks_git}import json", 1))
    monkeypatch.setenv("RUNNER_GIT_DRAFT_PR", "true")
    workplace.run()
    assert forge.has(DRAFT)
    assert not (tmp_path / "pwned").exists()


def test_a_remote_that_is_called_like_an_option_is_none(workplace, forge, monkeypatch, tmp_path):
    stuck(workplace, monkeypatch)
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    evil.chmod(0o755)
    name = f"--receive-pack={evil}"
    with (workplace.root / ".git/config").open("a") as file:
        file.write(f'[remote "{name}"]\n\turl = {forge.bare}\n')
        file.write(f'[branch "main"]\n\tremote = {name}\n')
    monkeypatch.setenv("RUNNER_GIT_DRAFT_PR", "true")
    workplace.run()
    assert not (tmp_path / "pwned").exists()
