"""What a run begins on: no git, no plan, no commit, nobody's name; a person's own work."""

import subprocess
import threading
import time

import pytest
from workplace import PASSES, Workplace, a_task

ONE = a_task("TASK-001", "Greeting", blocks={"hello.txt": "hello\n"})


def test_a_folder_without_git_or_without_a_plan_is_told_to_make_one(tmp_path, alone, workplace):
    folder = Workplace(tmp_path / "plain", alone)
    folder.root.mkdir()
    ended = folder.run()
    assert ended.code == 2
    assert "this folder is not in a git repository" in ended.err
    assert ended.err.endswith("hint: git init\n")
    ended = workplace.run()
    assert ended.code == 2
    assert "TASK-GRAPH.md not found" in ended.err
    assert ended.err.endswith("hint: runner init\n")
    assert not workplace.has("artifacts")


def test_the_first_landing_is_the_root_commit_and_an_untracked_plan_stays_untracked(workplace):
    workplace.plan(ONE, commit=False)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.subjects == ["feat(TASK-001): greeting"]
    assert workplace.git("show", "--name-only", "--format=", "HEAD") == "hello.txt"
    assert workplace.read("hello.txt") == "hello\n"
    assert "?? TASK-GRAPH.md" in workplace.dirt
    assert workplace.statuses == {"TASK-001": "DONE"}
    assert workplace.run().code == 0
    assert len(workplace.subjects) == 1


def test_init_then_run_builds_in_an_empty_repository(workplace):
    assert workplace.runner("init").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}


def test_without_a_user_name_commits_are_made_and_it_is_said(tmp_path, alone):
    nobody = Workplace.begin(tmp_path / "shop", alone, name="")
    nobody.plan(ONE, commit=False)
    ended = nobody.run()
    assert ended.code == 0, ended.said
    assert "git user.name is not set: commits are made as " in ended.err
    assert nobody.git("log", "-1", "--format=%an") != ""


def _signs_with(workplace, script):
    program = workplace.home / "fake-gpg"
    program.write_text(script)
    program.chmod(0o755)
    workplace.git("config", "--global", "gpg.program", str(program))
    workplace.git("config", "--global", "commit.gpgSign", "true")
    workplace.git("config", "--global", "user.signingKey", "ada")


def test_commits_are_signed_when_the_person_signs_theirs(workplace):
    workplace.plan(ONE)
    _signs_with(
        workplace,
        "#!/bin/sh\ncat >/dev/null\n"
        'echo "[GNUPG:] SIG_CREATED D 1 8 00 0 ada" >&2\n'
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n-----END PGP SIGNATURE-----\\n'\n",
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    for commit in ("HEAD", "HEAD~1"):
        assert "\ngpgsig -----BEGIN PGP SIGNATURE-----" in workplace.git("cat-file", "-p", commit)
    assert not any("refs/runner" in ref for ref in workplace.git("for-each-ref").splitlines())


def test_a_key_that_cannot_sign_stops_with_a_hint_and_lands_nothing(workplace):
    workplace.plan(ONE)
    _signs_with(workplace, "#!/bin/sh\necho 'no secret key' >&2\nexit 2\n")
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert "the commit could not be signed" in ended.err
    assert "hint: unlock your signing key" in ended.err
    assert workplace.subjects == ["plan"]
    workplace.git("config", "--global", "commit.gpgSign", "false")
    assert workplace.run().code == 0
    assert workplace.landings == ["TASK-001"]
    assert [one["mode"] for one in workplace.happened("attempt.started")] == ["build", "prove"]


def test_the_plan_is_found_in_artifacts_build_and_by_name(workplace):
    workplace.commit({"artifacts/build/TASK-GRAPH.md": f"# Shop\n\n{ONE}"})
    assert workplace.run().code == 0
    assert "Status: DONE" in workplace.read("artifacts/build/TASK-GRAPH.md")
    workplace.commit({"plans/other.md": "# Other\n\n" + ONE.replace("hello.txt", "bye.txt")})
    ended = workplace.run("--task-graph", "plans/other.md")
    assert ended.code == 0, ended.said


def test_without_trust_nothing_runs_and_nothing_is_written(workplace):
    marker = workplace.home / "ran"
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command=f"touch {marker}"))
    before = workplace.everything()
    ended = workplace.run(trust=False)
    assert ended.code == 3
    assert f"touch {marker}" in ended.err
    assert ended.err.endswith("hint: read them, then: runner run --trust\n")
    assert not marker.exists()
    assert workplace.everything() == before


def test_git_variables_of_a_calling_hook_do_not_mislead(workplace, tmp_path, monkeypatch):
    workplace.plan(ONE)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    ended = workplace.run()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert ended.code == 0, ended.said
    assert workplace.landings == ["TASK-001"]
    assert sorted(path.name for path in other.iterdir()) == [".git"]


def test_the_settings_may_name_the_plan(workplace):
    workplace.commit(
        {"docs/PLAN.md": f"# Shop\n\n{ONE}", "runner.toml": 'build.task_graph = "docs/PLAN.md"\n'}
    )
    ended = workplace.run(here="docs")
    assert ended.code == 0, ended.said
    assert workplace.read("hello.txt") == "hello\n"
    assert "Status: DONE" in workplace.read("docs/PLAN.md")
    assert workplace.dirt == []
    workplace.commit({"runner.toml": 'build.task_graph = "docs/OTHER.md"\n'})
    ended = workplace.run()
    assert ended.code == 2
    assert "TASK-GRAPH.md not found" in ended.err


PLACES_OF_OURS = (
    "artifacts",
    "artifacts/build",
    "artifacts/build/reports",
    "artifacts/build/runs",
    "artifacts/build/logs/TASK-001",
    "artifacts/build/CHECKPOINT.md",
    "artifacts/build/.gitignore",
)


def test_a_run_stops_before_a_link_and_writes_nothing_behind_it(workplace, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="false"))
    for place in PLACES_OF_OURS:
        link = workplace.root / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(theirs / "file" if "." in link.name else theirs)
        ended = workplace.run("--no-sandbox")
        assert ended.code == 6, (place, ended.said)
        assert "the runner never follows links" in ended.err, place
        assert list(theirs.iterdir()) == [], place
        link.unlink()


# --- a person works there, too --------------------------------------------------------


MAKES_B = a_task("TASK-002", "Makes b", outputs=["b.txt"], command="echo b > b.txt")


MAKES_A = a_task("TASK-001", "Makes a", outputs=["a.txt"], command="echo new > a.txt")


def called(workplace):
    """The tasks whose implementers were called, in that order."""
    return [one["task"] for one in workplace.happened("attempt.started") if one["mode"] == "build"]


# --- before the run -------------------------------------------------------------------


def test_uncommitted_changes_and_a_merge_in_progress_stop_the_run_with_a_hint(workplace):
    workplace.write({"a.txt": "old\n"})
    workplace.plan(MAKES_B)
    workplace.write({"a.txt": "mine\n"})
    ended = workplace.run()
    assert ended.code == 2
    assert "there are uncommitted changes\n  a.txt\n" in ended.err
    assert ended.err.endswith(
        "hint: commit them, or add --allow-dirty to build on HEAD without them\n"
    )
    assert workplace.subjects == ["plan"]
    assert workplace.status_line("TASK-002") == "- Status: PENDING"
    assert workplace.read("a.txt") == "mine\n"

    workplace.git("checkout", "a.txt")
    workplace.git("switch", "-qc", "side")
    workplace.commit({"a.txt": "2\n"})
    workplace.git("switch", "-q", "main")
    workplace.commit({"a.txt": "3\n"})
    workplace.git("merge", "side", check=False)
    ended = workplace.run()
    assert ended.code == 2
    assert "a merge is in progress" in ended.err
    assert "git merge --continue" in ended.err


def test_an_edited_plan_is_no_uncommitted_change(workplace):
    workplace.plan(MAKES_B)
    workplace.edit_plan("# Shop", "# My shop")
    assert workplace.run().code == 0
    assert workplace.landings == ["TASK-002"]
    assert workplace.git("show", "HEAD:TASK-GRAPH.md").startswith("# Shop")
    assert workplace.read("TASK-GRAPH.md").startswith("# My shop")
    assert workplace.dirt == [" M TASK-GRAPH.md"]


LINES = "1\n2\n3\n4\n5\n6\n7\n8\n"


@pytest.mark.parametrize("way", ["reverts", "commits another line", "commits the same line"])
def test_a_task_that_touches_a_dirty_file_waits_and_then_lands_on_what_the_person_made_of_it(
    workplace, way
):
    workplace.write({"a.txt": LINES, "z.txt": "old\n"})
    workplace.plan(
        a_task("TASK-001", "Eight", outputs=["a.txt"], command="sed -i s/8/eight/ a.txt"), MAKES_B
    )
    mine = LINES.replace("8", "my 8") if way == "commits the same line" else f"0\n{LINES}"
    workplace.write({"a.txt": mine, "z.txt": "mine\n"})
    ended = workplace.run("--allow-dirty")
    assert ended.code == 3, ended.said
    assert workplace.landings == ["TASK-002"]
    assert workplace.status_line("TASK-001") == (
        "- Status: BLOCKED — your own changes are in the way: a.txt"
    )
    assert "next: commit or move your own file, then `runner`" in ended.out
    assert workplace.read("a.txt") == mine
    assert workplace.happened("task.blocked")[-1]["reason"] == "review"

    still = workplace.run("--allow-dirty")
    assert still.code == 3
    assert called(workplace) == ["TASK-001", "TASK-002"]

    if way == "reverts":
        workplace.git("checkout", "-q", "--", "a.txt", "z.txt")
    else:
        workplace.git("commit", "-q", "-m", "mine", "a.txt", "z.txt")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    made_again = ["TASK-001"] if way == "commits the same line" else []
    assert called(workplace) == ["TASK-001", "TASK-002", *made_again]
    made = LINES if way == "reverts" else mine
    assert workplace.read("a.txt") == made.replace("8", "eight")
    assert workplace.landings == ["TASK-002", "TASK-001"]
    assert workplace.dirt == []


def test_an_untracked_file_in_the_way_of_an_output_is_kept_and_the_task_waits(workplace):
    workplace.plan(MAKES_A)
    workplace.write({"a.txt": "precious\n"})
    # An untracked environment is no file that tasks miss.
    workplace.write({".venv/pyvenv.cfg": "", "node_modules/b/index.js": "", "notes.txt": ""})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    unseen = "untracked, so tasks can't see it (git add and commit):\n  a.txt\n  notes.txt\n"
    assert unseen in ended.err
    assert ".venv" not in ended.err
    assert "node_modules" not in ended.err
    assert workplace.read("a.txt") == "precious\n"
    assert workplace.status_line("TASK-001").endswith("your own changes are in the way: a.txt")
    (workplace.root / "a.txt").rename(workplace.home / "saved")
    assert workplace.run().code == 0
    assert called(workplace) == ["TASK-001"]
    assert workplace.read("a.txt") == "new\n"


def test_an_untracked_file_with_the_very_bytes_is_taken_over(workplace):
    workplace.plan(MAKES_A)
    workplace.write({"a.txt": "new\n"})
    assert workplace.run().code == 0
    assert workplace.dirt == []


def test_an_ignored_file_in_the_way_is_kept_too(workplace):
    workplace.commit({".gitignore": "*.log\n"})
    workplace.plan(a_task("TASK-001", outputs=["a/x.txt"], command="mkdir -p a; echo x > a/x.txt"))
    workplace.write({"a": "a file where a folder must be\n"})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.read("a").startswith("a file")


def test_staged_work_of_the_person_stays_staged(workplace):
    workplace.write({"mine.txt": "1\n"})
    workplace.plan(MAKES_B)
    workplace.write({"mine.txt": "2\n", "new.txt": "n\n"})
    workplace.git("add", "mine.txt", "new.txt")
    assert workplace.run("--allow-dirty").code == 0
    assert workplace.dirt == ["M  mine.txt", "A  new.txt"]
    assert workplace.git("show", "--name-only", "--format=", "HEAD~1") == "b.txt"


# --- HEAD -----------------------------------------------------------------------------


def test_on_a_detached_head_commits_land_on_it_alone(workplace):
    workplace.plan(MAKES_B)
    main = workplace.head
    workplace.git("checkout", "-q", "--detach")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "HEAD is detached: commits land on no branch" in ended.err
    assert workplace.git("rev-parse", "main") == main
    assert workplace.landings == ["TASK-002"]
    assert workplace.dirt == []


class Meanwhile:
    """Does something once, in a thread, as soon as a file says that a task is at work."""

    def __init__(self, workplace, act):
        self.flag = workplace.home / "at-work"
        self.go = workplace.home / "go-on"
        self.seen = ""
        self._act = act
        self._thread = threading.Thread(target=self._watch)

    @property
    def gate(self):
        """A gate that lets the person act while it runs, the first time alone."""
        waits = f"touch {self.flag}; while [ ! -e {self.go} ]; do sleep 0.02; done"
        return f"gate: `sh: [ -e {self.go} ] || {{ {waits}; }}`"

    def _watch(self):
        for _ in range(1000):
            if self.flag.exists():
                self.seen = self._act() or "done"
                self.go.touch()
                return
            time.sleep(0.02)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._thread.join(30)
        assert self.seen, "nothing happened meanwhile"


def while_at_work(workplace, act, *tasks, **fields):
    """Plan a task whose gate waits for `act`, run it, and say how it ended."""
    meanwhile = Meanwhile(workplace, act)
    task = a_task(
        "TASK-001",
        "Makes a",
        outputs=["a.txt"],
        command="echo new > a.txt",
        fields=["Gates:\n  - " + meanwhile.gate],
        **fields,
    )
    workplace.plan(task, *tasks)
    with meanwhile:
        return workplace.run("--sandbox", "none", "-v")


def test_a_person_commits_meanwhile_and_the_same_bytes_are_proven_again_on_top(workplace):
    ended = while_at_work(workplace, lambda: workplace.commit({"other.txt": "o\n"}, "theirs"))
    assert ended.code == 0, ended.said
    assert workplace.subjects == [
        "plan",
        "theirs",
        "feat(TASK-001): makes a",
        "chore(runner): record",
    ]
    assert called(workplace) == ["TASK-001"]
    assert "re-testing on the updated branch" in ended.err
    assert [one["mode"] for one in workplace.happened("attempt.started")] == ["build", "prove"]
    assert len(workplace.happened("task.landed")) == 1
    assert workplace.dirt == []
    writes = workplace.read("artifacts/build/WRITE_LOG.jsonl").splitlines()
    assert len([line for line in writes if '"path"' in line]) == 1, writes


def test_a_person_commits_the_same_file_meanwhile_and_the_next_attempt_hears_of_it(workplace):
    ended = while_at_work(workplace, lambda: workplace.commit({"a.txt": "theirs\n"}, "theirs"))
    assert ended.code == 0, ended.said
    assert "a.txt: changed on the branch" in ended.err
    assert called(workplace) == ["TASK-001"] * 2
    assert workplace.read("a.txt") == "new\n"
    assert workplace.git("show", "HEAD~2:a.txt") == "theirs"
    assert workplace.landings == ["TASK-001"]


def test_another_branch_is_checked_out_meanwhile_and_nothing_lands(workplace):
    def leave():
        workplace.git("branch", "other")
        workplace.git("switch", "-q", "--discard-changes", "other")

    ended = while_at_work(
        workplace,
        leave,
        a_task("TASK-002", needs=["TASK-001"], outputs=["c.txt"], command="echo c > c.txt"),
    )
    assert ended.code == 6, ended.said
    assert workplace.git("branch", "--show-current") == "other"
    assert workplace.landings == []
    assert workplace.git("log", "-1", "--format=%s", "main") == "plan"
    assert not workplace.has("a.txt")
    assert not [line for line in workplace.dirt if not line.startswith("??")]

    workplace.git("switch", "-q", "main")
    again = workplace.run("--sandbox", "none")
    assert again.code == 0, again.said
    assert workplace.landings == ["TASK-001", "TASK-002"]
    assert called(workplace) == ["TASK-001", "TASK-002"]


def test_the_branch_is_rewritten_meanwhile_and_nothing_lands(workplace):
    workplace.commit({"x.txt": "x\n"})

    def rewrite():
        workplace.git("commit", "-q", "--amend", "-m", "rewritten")
        return workplace.head

    ended = while_at_work(workplace, rewrite)
    assert ended.code == 6, ended.said
    assert workplace.subjects[1] == "rewritten"
    assert workplace.landings == []
    assert not workplace.has("a.txt")
    again = workplace.run("--sandbox", "none")
    assert again.code == 0, again.said
    assert called(workplace) == ["TASK-001"]
    assert workplace.landings == ["TASK-001"]


def test_a_file_edited_meanwhile_stays_the_persons(workplace):
    workplace.commit({"a.txt": "old\n"})
    ended = while_at_work(workplace, lambda: workplace.write({"a.txt": "typed just now\n"}))
    assert ended.code == 3, ended.said
    assert workplace.read("a.txt") == "typed just now\n"
    assert "in the way: a.txt" in workplace.status_line("TASK-001")


def test_prose_edited_meanwhile_survives_and_is_not_committed(workplace):
    def edit():
        workplace.edit_plan("# Shop", "# Shop, renamed while it runs")

    ended = while_at_work(workplace, edit, MAKES_B)
    assert ended.code == 0, ended.said
    text = workplace.read("TASK-GRAPH.md")
    assert text.startswith("# Shop, renamed while it runs")
    assert text.count("- Status: DONE") == 2
    committed = workplace.git("show", "HEAD:TASK-GRAPH.md")
    assert committed.startswith("# Shop\n")
    assert committed.count("- Status: DONE") == 2
    assert workplace.dirt == [" M TASK-GRAPH.md"]
    assert PASSES not in committed
