import json
import os
import stat
import subprocess
import sys

import pytest
from commands_build import a_plan
from pipeline_build import a_key, is_safe

from runner.journal.events import WriteRejected, WriteReviewed
from runner.journal.records import read_journal
from runner.project import JOURNAL

KEY = a_key()
BEFORE = "one\ntwo\n"
AFTER = "one\n2\n"


@pytest.fixture
def repository(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("src/app.txt", BEFORE)
    ground.write("proposed", AFTER)
    return ground


def stage(ground, file="src/app.txt", content="proposed", task="TASK-001"):
    return ground.runner(
        "staged-write", "stage", "--task", task, "--file", file, "--content", content
    )


def the_id(ground):
    (staged,) = waiting(ground)
    return staged["id"]


def waiting(ground):
    return ground.runner("staged-write", "list", "--json").json["staged"]


def written(ground, path="src/app.txt"):
    return (ground.folder / path).read_text()


def events(ground, kind):
    journal = read_journal(ground.folder / JOURNAL)
    return [record.event for record in journal if isinstance(record.event, kind)]


def log(ground):
    return ground.runner("write-log", "show", "--json").json["writes"]


def test_without_a_terminal_a_proposal_waits_and_says_where(repository):
    said = stage(repository)
    assert said.code == 3
    id_ = the_id(repository)
    assert said.out == f"staged as {id_}; see it with: runner pipeline staged-write show {id_}\n"
    assert written(repository) == BEFORE


def test_what_is_staged_can_be_listed_and_seen(repository):
    stage(repository)
    id_ = the_id(repository)
    listed = repository.runner("staged-write", "list")
    assert listed.out == (
        "ID        Task      Action  File         Staged               Standing\n"
        f"{id_}  TASK-001  modify  src/app.txt  <time>  waits\n"
    )
    shown = repository.runner("staged-write", "show", id_)
    assert shown.out == (
        "TASK-001 wants to modify src/app.txt\n"
        "--- a/src/app.txt\n+++ b/src/app.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    )
    data = repository.runner("staged-write", "show", id_, "--json").json
    assert data["staged"]["path"] == "src/app.txt"
    assert data["diff"].endswith("-two\n+2")


def test_apply_writes_exactly_the_staged_bytes_and_records_them(repository):
    (repository.folder / "proposed").write_bytes(b"one\r\n\xff\x00\n")
    stage(repository)
    said = repository.runner("staged-write", "apply", the_id(repository))
    assert said.code == 0
    assert (repository.folder / "src/app.txt").read_bytes() == b"one\r\n\xff\x00\n"
    (line,) = log(repository)
    assert (line["task"], line["path"], line["review"]) == ("TASK-001", "src/app.txt", "applied")
    assert line["outcome"] == "landed"
    assert line["bytes"] == 8
    (event,) = events(repository, WriteReviewed)
    assert (event.review, event.by) == ("applied", "person")
    assert waiting(repository) == []


def test_a_new_file_is_made_and_an_executable_one_stays_so(repository):
    stage(repository, "deep/new.txt")
    repository.runner("staged-write", "apply", the_id(repository))
    assert written(repository, "deep/new.txt") == AFTER
    (repository.folder / "src/app.txt").chmod(0o755)
    stage(repository)
    repository.runner("staged-write", "apply", the_id(repository))
    assert (repository.folder / "src/app.txt").stat().st_mode & stat.S_IXUSR


def test_a_key_is_refused_before_anything_is_staged(repository):
    repository.write("proposed", f"k = '{KEY}'\n")
    said = stage(repository)
    assert said.code == 1
    assert "src/app.txt:1:6: error: secret found: OpenAI API key" in said.err
    assert "refused: nothing was staged" in said.err
    assert KEY not in said.out + said.err
    assert not (repository.folder / "artifacts").exists()


def test_an_allowed_value_may_be_staged(repository):
    repository.write("proposed", f"k = '{KEY}'\n")
    repository.runner("secrets", "allow", "proposed:1", "--reason", "a sample")
    assert stage(repository).code == 3
    assert repository.runner("staged-write", "apply", the_id(repository)).code == 0


def test_a_file_that_changed_meanwhile_is_not_written_over(repository):
    stage(repository)
    id_ = the_id(repository)
    repository.write("src/app.txt", "mine\n")
    said = repository.runner("staged-write", "apply", id_)
    assert said.code == 6
    assert said.err == (
        "runner: the file changed since it was staged (src/app.txt)\n"
        "hint: stage the proposal again for the current file\n"
    )
    assert written(repository) == "mine\n"
    assert the_id(repository) == id_
    assert (
        "the file changed since this was staged"
        in repository.runner("staged-write", "show", id_).out
    )
    (repository.folder / "src/app.txt").unlink()
    assert repository.runner("staged-write", "apply", id_).code == 6


def test_a_link_that_was_put_in_the_way_is_not_followed(repository):
    stage(repository)
    outside = repository.home / "outside"
    outside.write_text(BEFORE)
    (repository.folder / "src/app.txt").unlink()
    (repository.folder / "src/app.txt").symlink_to(outside)
    assert repository.runner("staged-write", "apply", the_id(repository)).code == 6
    assert outside.read_text() == BEFORE


def test_staged_bytes_that_were_changed_are_not_applied(repository):
    stage(repository)
    (blob,) = [
        path
        for path in (repository.folder / "artifacts/build/staged").rglob("*")
        if path.is_file() and path.name not in {"index.json", "lock"}
    ]
    blob.write_text("evil\n")
    said = repository.runner("staged-write", "apply", the_id(repository))
    assert said.code == 6
    assert "the staged content changed" in said.err
    assert written(repository) == BEFORE


def test_an_index_made_by_hand_leads_nowhere(repository):
    stage(repository)
    (index,) = (repository.folder / "artifacts/build/staged").rglob("index.json")
    for path in ("../outside", ".git/config", "TASK-GRAPH.md"):
        document = json.loads(index.read_text())
        document["staged"][0].update(path=path, before=None)
        index.write_text(json.dumps(document))
        said = repository.runner("staged-write", "apply", the_id(repository))
        assert said.code == 1
        assert waiting(repository) != []
    assert not (repository.folder.parent / "outside").exists()


def test_a_rejection_needs_a_reason_that_the_next_attempt_reads(repository):
    stage(repository)
    id_ = the_id(repository)
    said = repository.runner("staged-write", "reject", id_)
    assert said.code == 2
    assert "hint: add --reason TEXT" in said.err
    said = repository.runner("staged-write", "reject", id_, "--reason", "keep the\nold\x1b name")
    assert said.code == 1
    assert said.err == "rejected: src/app.txt\n"
    (event,) = events(repository, WriteRejected)
    assert event.reason == "keep the old\x1b name"
    assert waiting(repository) == []
    assert written(repository) == BEFORE


def test_the_reason_is_in_the_brief_and_counts_as_no_attempt(repository):
    repository.write("TASK-GRAPH.md", a_plan("A; B"))
    stage(repository, "a.txt")
    repository.runner("staged-write", "reject", the_id(repository), "--reason", "say please")
    known = repository.project().state().task("TASK-001")
    assert known.attempts_in_row == 0
    assert [finding.message for finding in known.findings] == [
        "a person rejected this change: say please"
    ]


def test_a_key_in_a_reason_is_kept_nowhere(repository):
    stage(repository)
    repository.runner("staged-write", "reject", the_id(repository), "--reason", f"not {KEY}")
    for path in repository.folder.rglob("*"):
        if path.is_file() and ".git/" not in str(path):
            assert KEY.encode() not in path.read_bytes()


def editor(ground, monkeypatch, text):
    """An editor that leaves `text` in whatever it opens."""
    ground.write("editor.py", f"import sys\nopen(sys.argv[1], 'w').write({text!r})\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {ground.folder / 'editor.py'}")


def test_an_edit_takes_the_whole_way_again(repository, monkeypatch):
    stage(repository)
    first = the_id(repository)
    editor(repository, monkeypatch, "edited\n")
    said = repository.runner("staged-write", "edit", first)
    assert said.code == 3
    second = the_id(repository)
    assert second != first
    assert f"staged as {second}" in said.out
    assert repository.runner("staged-write", "apply", second).code == 0
    assert written(repository) == "edited\n"
    assert [line["review"] for line in log(repository)] == ["edited"]
    assert [event.review for event in events(repository, WriteReviewed)] == ["edited"]


def test_an_edit_that_adds_a_key_is_refused_and_the_proposal_stays(repository, monkeypatch):
    stage(repository)
    first = the_id(repository)
    editor(repository, monkeypatch, f"k = '{KEY}'\n")
    said = repository.runner("staged-write", "edit", first)
    assert said.code == 1
    assert KEY not in said.out + said.err
    assert the_id(repository) == first


def test_an_editor_that_is_not_there_is_told(repository, monkeypatch):
    stage(repository)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    said = repository.runner("staged-write", "edit", the_id(repository))
    assert said.code == 2
    assert said.err == "runner: no editor is set\nhint: export EDITOR=vi\n"


def test_with_a_plan_the_task_and_its_files_are_known(repository):
    repository.write("TASK-GRAPH.md", a_plan("A; B"))
    said = stage(repository, "a.txt", task="TASK-007")
    assert said.code == 2
    assert 'unknown task "TASK-007"' in said.err
    assert "hint: `runner status --list` lists the tasks" in said.err
    said = stage(repository, "b.txt", task="1")
    assert said.code == 1
    assert "error: 'b.txt' is not in the Output files of TASK-001" in said.err
    assert "hint: - Output files: `a.txt`, `b.txt`" in said.err
    assert stage(repository, "a.txt", task="1").code == 3
    assert waiting(repository)[0]["task"] == "TASK-001"


@pytest.mark.parametrize("path", ["TASK-GRAPH.md", "runner.toml", "artifacts/build/journal.jsonl"])
def test_the_runners_own_files_are_nobodys_to_write(repository, path):
    said = stage(repository, path)
    assert said.code == 1
    assert "no task may write" in said.err


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "a/../b", "GIT~1/x", ""])
def test_a_bad_path_is_exit_2_with_a_hint(repository, path):
    said = stage(repository, path)
    assert said.code == 2
    assert "hint: " in said.err
    assert waiting(repository) == []


def test_an_absolute_path_within_the_project_is_the_same_file(repository):
    assert stage(repository, str(repository.folder / "src/app.txt")).code == 3
    assert waiting(repository)[0]["path"] == "src/app.txt"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "staged-write needs one of: stage"),
        (("stage",), "the following arguments are required"),
        (("apply",), "the following arguments are required: ID"),
        (("apply", "12345678"), 'unknown staged write "12345678"'),
        (("show", "x\x1b[2J"), 'unknown staged write "x\\x1b[2J"'),
        (("fly",), "staged-write needs one of: stage"),
    ],
)
def test_bad_input_is_exit_2_with_a_hint(repository, words, message):
    said = repository.runner("staged-write", *words)
    assert said.code == 2
    assert message in said.err
    assert "hint: " in said.err


def test_a_content_that_is_missing_and_a_task_that_is_none_are_told(repository):
    assert "cannot be read" in stage(repository, content="gone").err
    said = stage(repository, task="what")
    assert said.code == 2
    assert '"what" is not a valid task id' in said.err


def test_a_mistyped_id_is_suggested(repository):
    stage(repository)
    id_ = the_id(repository)
    said = repository.runner("staged-write", "show", id_[:-1] + "_")
    assert f'did you mean "{id_}"?' in said.err


def test_the_same_bytes_need_no_review(repository):
    repository.write("proposed", BEFORE)
    said = stage(repository)
    assert said.code == 0
    assert "the file already has this content" in said.err


def test_a_mistake_in_the_source_is_told_with_the_proposal(repository):
    repository.write("proposed", "def f(:\n    pass  # noqa\n")
    said = stage(repository, "src/app.py")
    assert said.code == 3
    assert "src/app.py:1:7: error: " in said.err
    assert "1 new suppression of linters or type checkers" in said.err


def test_an_applied_source_is_scanned_behind(repository):
    imports = "import pickle\nimport subprocess\n"
    shown = "def shown(line):\n    subprocess.call(line, shell=True)\n"
    repository.write("proposed", imports + shown)
    stage(repository, "src/app.py")
    said = repository.runner("staged-write", "apply", the_id(repository))
    assert said.code == 0
    assert "SAST: 1 high, 2 low" in said.err
    assert repository.runner("sast", "show", "--json").json["findings"][0]["path"] == "src/app.py"


def test_escapes_reach_no_terminal(repository):
    (repository.folder / "proposed").write_bytes("a\x1b[2J\u202e\x07\r\n".encode())
    stage(repository, "src/[red]ä漢.txt")
    id_ = the_id(repository)
    for words in (("list",), ("show", id_), ("reject", id_, "--reason", "\x1b]0;x\x07")):
        said = repository.runner("staged-write", *words)
        assert is_safe(said.out)
        assert is_safe(said.err)


def test_an_empty_a_binary_and_a_large_file_go_the_same_way(repository):
    contents = {
        "empty": b"",
        "binary": bytes(range(256)) * 400,
        "large": b"a line of text\n" * (20_000_000 // 15),
    }
    for name, content in contents.items():
        (repository.folder / "proposed").write_bytes(content)
        assert stage(repository, f"{name}.txt").code == 3
        assert repository.runner("staged-write", "apply", the_id(repository)).code == 0
        assert (repository.folder / f"{name}.txt").read_bytes() == content


def test_outside_a_repository_it_works_in_the_folder(ground):
    ground.write("proposed", AFTER)
    assert stage(ground, "new.txt").code == 3
    assert ground.runner("staged-write", "apply", the_id(ground)).code == 0
    assert written(ground, "new.txt") == AFTER


def test_what_a_run_needs_ignored_is_ignored(repository):
    repository.commit()
    stage(repository)
    assert repository.git("status", "--short", "-uall") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_told_and_nothing_is_half_written(repository):
    disk = repository.folder / "artifacts"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        repository.write("proposed", "x" * 1_000_000)
        said = stage(repository)
        assert said.code == 2
        assert "the disk is full" in said.err
        assert "hint: free some space" in said.err
        assert waiting(repository) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_may_not_be_written_is_told(repository):
    stage(repository)
    id_ = the_id(repository)
    if os.geteuid() == 0:
        bind = ["mount", "--bind", str(repository.folder / "src"), str(repository.folder / "src")]
        if subprocess.run(bind, capture_output=True, check=False).returncode:
            pytest.skip("cannot mount here")
        subprocess.run(["mount", "-o", "remount,bind,ro", bind[-1]], check=True)
    else:
        (repository.folder / "src").chmod(0o555)
    try:
        said = repository.runner("staged-write", "apply", id_)
        assert said.code == 2
        assert "src/app.txt" in said.err
        assert "hint: check the folder's owner" in said.err
        assert written(repository) == BEFORE
        assert the_id(repository) == id_
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", bind[-1]], check=True)
        else:
            (repository.folder / "src").chmod(0o755)


# --- what is decided ------------------------------------------------------------------


def standings(ground):
    listed = ground.runner("staged-write", "list", "--all", "--json").json["staged"]
    return {one["id"]: one["standing"] for one in listed}


def test_what_was_applied_or_rejected_is_still_told(repository):
    stage(repository)
    applied = the_id(repository)
    repository.runner("staged-write", "apply", applied)
    repository.write("proposed", "three\n")
    stage(repository)
    rejected = the_id(repository)
    repository.runner("staged-write", "reject", rejected, "--reason", "no")
    assert waiting(repository) == []
    assert standings(repository) == {applied: "landed", rejected: "rejected"}
    again = repository.runner("staged-write", "apply", applied)
    assert again.code == 2
    assert again.err == (
        f"runner: {applied} is already decided: it was applied (src/app.txt)\n"
        "hint: runner pipeline staged-write list --all\n"
    )


def test_a_second_proposal_says_which_one_it_replaces(repository):
    stage(repository)
    first = the_id(repository)
    assert "replaces" not in stage(repository).err  # the same bytes are the same proposal
    repository.write("proposed", "three\n")
    assert f"this proposal replaces {first}\n" in stage(repository).err
    second = the_id(repository)
    assert standings(repository) == {first: "replaced", second: "waits"}
    assert "replaced it" in repository.runner("staged-write", "show", first).err


def test_what_is_staged_by_hand_is_in_the_review(repository):
    repository.write("TASK-GRAPH.md", a_plan("A"))
    stage(repository, "a.txt")
    id_ = the_id(repository)
    said = repository.runner("review")
    assert said.out == (
        "staged: TASK-001 create a.txt — "
        f"runner pipeline staged-write show {id_}, then apply, edit or reject\n"
    )
    assert [one["id"] for one in repository.runner("review", "--json").json["staged"]] == [id_]
    repository.runner("staged-write", "apply", id_)
    assert repository.runner("review").out == "nothing is waiting for you\n"


@pytest.fixture
def compiled(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("a.txt", "one\n")
    ground.git("add", "-A")
    ground.git("commit", "-qm", "first")
    return ground


def staged(ground, file, content):
    ground.write(".git/proposed", content)
    words = ("stage", "--task", "TASK-001", "--file", file, "--content", ".git/proposed")
    said = ground.runner("staged-write", *words)
    return said, said.out.split("staged as ")[1][:8]


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("d.sh", "if true\n", "d.sh:2: error: syntax error: unexpected end of file"),
        ("e.py", "def (\n", "e.py:1:5: error: invalid syntax"),
    ],
)
def test_what_does_not_parse_is_said_and_not_applied(compiled, file, content, told):
    said, id_ = staged(compiled, file, content)
    assert told in said.err
    assert said.code == 3
    applied = compiled.runner("staged-write", "apply", id_)
    assert applied.code == 1
    assert "the file does not compile: " in applied.err
    assert "hint: fix the syntax, and stage it again" in applied.err
    assert not (compiled.folder / file).exists()


def test_the_settings_compilers_see_the_whole_tree_once_they_are_trusted(compiled, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    compiled.write("runner.toml", '[compile]\n"*.y" = "cat a.txt z.y; ! grep -q bad *.y"\n')
    said, id_ = staged(compiled, "z.y", "bad\n")
    assert "note: not all compilers ran: this repository's commands are not trusted yet" in said.err
    monkeypatch.setenv("CI", "true")
    applied = compiled.runner("staged-write", "apply", id_)
    assert applied.code == 1
    assert "ended with exit code 1 (z.y)" in applied.err
    said, id_ = staged(compiled, "z.y", "good\n")
    assert "error" not in said.err
    assert compiled.runner("staged-write", "apply", id_).code == 0


def test_what_was_wrong_before_is_no_reason_to_refuse(compiled, monkeypatch):
    monkeypatch.setenv("CI", "true")
    compiled.write("runner.toml", '[compile]\n"*.y" = "! grep -q bad *.y"\n')
    compiled.write("old.y", "bad\n")
    said, id_ = staged(compiled, "z.y", "good\n")
    assert "z.y: warning: " in said.err
    assert "hint: this error existed before the change" in said.err
    assert compiled.runner("staged-write", "apply", id_).code == 0


def test_a_compiler_that_is_not_there_is_said(compiled, monkeypatch, tmp_path):
    compiled.write("go.mod", "module x\n")
    for name in ("git", "sh", "bash"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    said, id_ = staged(compiled, "a.go", "package main\n")
    assert "a.go: warning: not compiled: go is not installed" in said.err
    assert compiled.runner("staged-write", "apply", id_).code == 0
