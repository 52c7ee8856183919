import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from repo_build import a_repository, git, summary, write

from runner import effects
from runner.repo.git import Git, GitError, GitTimeoutError, as_environment, silence
from runner.repo.read import Repository
from runner.repo.scratch import Scratch


def test_every_git_that_starts_is_an_effect_that_can_be_stopped(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    seen = []

    def stop(kind, target):
        seen.append((kind, target))
        raise KeyboardInterrupt

    effects.watch(stop)
    try:
        with Repository.open(tmp_path) as repo, pytest.raises(KeyboardInterrupt):
            repo.state()
    finally:
        effects.unwatch(stop)
    assert seen == [("git", "config")]


def test_a_failure_says_what_git_said(tmp_path):
    a_repository(tmp_path)

    with pytest.raises(GitError) as failed:
        Git(tmp_path).run("rev-parse", "--verify", "nothing")

    assert failed.value.message == "git rev-parse failed"
    assert failed.value.detail == "fatal: Needed a single revision"
    assert failed.value.exit == 128


def test_a_folder_that_is_gone_is_no_reason_to_look_elsewhere(tmp_path):
    with pytest.raises(GitError):
        Git(tmp_path / "gone").run("status")


def test_a_folder_that_is_moved_just_as_git_starts_in_it_is_looked_for_again(monkeypatch, tmp_path):
    repo = tmp_path / "repo"
    a_repository(repo)
    monkeypatch.chdir(repo)
    looks = iter([True])
    access = os.access

    def moved(path, mode):
        if next(looks, False):
            repo.rename(tmp_path / "elsewhere")
            return True
        return access(path, mode)

    monkeypatch.setattr(os, "access", moved)
    with pytest.raises(GitError) as failed:
        Git(repo).run("status")
    assert "cannot change to" in failed.value.detail


def test_a_git_that_does_not_end_is_ended(tmp_path):
    a_repository(tmp_path)
    waiting = Git(tmp_path, settings=(("alias.wait", "!sleep 30"),))

    with pytest.raises(GitTimeoutError) as ended:
        waiting.run("wait", seconds=0.2)
    assert ended.value.detail == "timed out after 0.2 seconds"


def test_settings_the_person_gives_in_the_environment_come_first(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, (key, value) in enumerate((("user.name", "Env"), ("core.hooksPath", "/x"))):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    a_repository(tmp_path)
    there = Git(tmp_path)

    assert there.line("config", "user.name") == "Env"
    assert there.line("config", "core.hooksPath") == "/dev/null"
    with pytest.raises(GitError):
        Git(tmp_path, {"GIT_DIR": str(tmp_path / "none")}, alone=True).line("config", "user.name")


def test_names_of_programs_are_emptied_and_others_left():
    names = ("filter.a.b.clean", "filter.x.required", "diff.x.textconv", "merge.m.driver", "a.b")

    assert silence(names) == (
        ("diff.x.textconv", ""),
        ("filter.a.b.clean", ""),
        ("merge.m.driver", ""),
        ("filter.x.required", "false"),
    )
    assert as_environment((("a.b", "c"),), {}) == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a.b",
        "GIT_CONFIG_VALUE_0": "c",
    }


def test_slots_work_side_by_side_in_threads(tmp_path):
    real = a_repository(tmp_path / "real", {f"f{n}": f"{n}" for n in range(30)})
    with Repository.open(real) as repo:
        base, lender = repo.head().commit, repo.lender()
    seen = {}

    def work(number):
        scratch = Scratch.open(tmp_path / f"slot{number}", lender)
        for turn in range(4):
            scratch.reset(base)
            write(scratch.project, {f"f{number}": f"turn {turn}"})
            seen[number, turn] = summary(scratch.changes())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 16
    for (number, _), changes in seen.items():
        assert changes == {f"f{number}": ("modify", "0o100644")}
    assert git(real, "status", "--porcelain") == ""


def test_an_interrupt_lets_git_finish_so_that_no_lock_stays(tmp_path):
    a_repository(tmp_path)
    slow = Git(tmp_path, settings=(("alias.slow", f"!sleep 0.4; touch '{tmp_path}/done'"),))
    threading.Timer(0.15, signal.raise_signal, (signal.SIGINT,)).start()

    with pytest.raises(KeyboardInterrupt):
        slow.run("slow")

    assert (tmp_path / "done").exists()


# --- GitPython is the door to git, and starts nothing by itself -----------------------


_ALONE = """
import sys
from pathlib import Path
from runner.repo.git import Git
print(Git(Path(sys.argv[1])).line("rev-parse", "--is-inside-work-tree"), "git.repo" in sys.modules)
import git
print(git.Repo(sys.argv[1]).head.is_valid(), "git.repo" in sys.modules)
"""


def test_gitpython_starts_no_git_of_its_own_and_is_whole_for_whoever_asks_for_more(tmp_path):
    folder = a_repository(tmp_path / "shop", {"a": ""})
    log, fake = tmp_path / "log", tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    fake.chmod(0o755)
    said = subprocess.run(
        [sys.executable, "-c", _ALONE.partition("import git\n")[0], str(folder)],
        env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "true False\n"
    assert [line.split()[2:] for line in log.read_text().splitlines()] == [
        ["rev-parse", "--is-inside-work-tree"]
    ]
    whole = subprocess.check_output([sys.executable, "-c", _ALONE, str(folder)], text=True)
    assert whole == "true False\nTrue True\n"


def test_a_git_that_is_not_there_is_said(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, str(tmp_path)],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "RunnerError: git is not installed" in done.stderr
