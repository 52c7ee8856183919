"""Before anything runs: no git, no plan, no commit, nobody's name, a second runner."""

import subprocess

from workplace import Workplace, a_task

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
