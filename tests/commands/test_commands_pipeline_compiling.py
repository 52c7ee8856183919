"""What a person proposes by hand is compiled like a task's write; a failure goes no further."""

import pytest


@pytest.fixture
def repository(ground):
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
def test_what_does_not_parse_is_said_and_not_applied(repository, file, content, told):
    said, id_ = staged(repository, file, content)
    assert told in said.err
    assert said.code == 3
    applied = repository.runner("staged-write", "apply", id_)
    assert applied.code == 1
    assert "the file does not compile: " in applied.err
    assert "hint: fix the syntax, and stage it again" in applied.err
    assert not (repository.folder / file).exists()


def test_the_settings_compilers_see_the_whole_tree_once_they_are_trusted(repository, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    repository.write("runner.toml", '[compile]\n"*.y" = "cat a.txt z.y; ! grep -q bad *.y"\n')
    said, id_ = staged(repository, "z.y", "bad\n")
    assert "note: not all compilers ran: this repository's commands are not trusted yet" in said.err
    monkeypatch.setenv("CI", "true")
    applied = repository.runner("staged-write", "apply", id_)
    assert applied.code == 1
    assert "ended with exit code 1 (z.y)" in applied.err
    said, id_ = staged(repository, "z.y", "good\n")
    assert "error" not in said.err
    assert repository.runner("staged-write", "apply", id_).code == 0


def test_what_was_wrong_before_is_no_reason_to_refuse(repository, monkeypatch):
    monkeypatch.setenv("CI", "true")
    repository.write("runner.toml", '[compile]\n"*.y" = "! grep -q bad *.y"\n')
    repository.write("old.y", "bad\n")
    said, id_ = staged(repository, "z.y", "good\n")
    assert "z.y: warning: " in said.err
    assert "hint: this error existed before the change" in said.err
    assert repository.runner("staged-write", "apply", id_).code == 0


def test_a_compiler_that_is_not_there_is_said(repository, monkeypatch, tmp_path):
    repository.write("go.mod", "module x\n")
    for name in ("git", "sh", "bash"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    said, id_ = staged(repository, "a.go", "package main\n")
    assert "a.go: warning: not compiled: go is not installed" in said.err
    assert repository.runner("staged-write", "apply", id_).code == 0
