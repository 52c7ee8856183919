"""The question at the terminal: what is typed, what an editor leaves, and what is said of it."""

import io
import sys

import pytest
from pipeline_build import a_key

from runner.errors import RunnerError
from runner.model import Action, Change, Task, digest_of
from runner.report.console import NORMAL, Console
from runner.run.review import Answer, Reply, Spot
from runner.terminal.terminal_review import REFUSED, TerminalAsker, edit_content

CHANGE = Change("a.txt", Action.CREATE, 0o100644, None, digest_of(b"one\n"), b"one\n")
GONE = Change("a.txt", Action.DELETE, 0o100644, digest_of(b"one\n"), None, None)


@pytest.fixture
def typed(monkeypatch, capsys, ground):
    """Types lines; gives the answer and what was said meanwhile."""
    monkeypatch.chdir(ground.folder)

    def ask(*lines, change=CHANGE, spot=None, editor=""):
        spot = spot or Spot()
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        environ = {"HOME": str(ground.home), "EDITOR": editor}
        task = Task(id="TASK-001", line=1, title="Work", spec=None)
        asker = TerminalAsker(Console(level=NORMAL, colour=False), environ)
        said = asker.ask(task, change, None, spot)
        return said, capsys.readouterr().err

    return ask


def an_editor(tmp_path, body, name="editor"):
    file = tmp_path / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_where_a_file_stands_among_the_others_is_said(typed):
    said, shown = typed("n", spot=Spot(2, 3, 2, "applied"))
    assert said == Reply(Answer.NEXT)
    assert "TASK-001 wants to create a.txt (2 of 3, applied)\n" in shown
    assert shown.endswith(
        "a[l]l 2, [e]dit, [r]eject, [s]how again, [n]ext, [p]revious, [?], or [w]ait? "
    )
    assert typed("P", spot=Spot(2, 3))[0] == Reply(Answer.PREVIOUS)


def test_one_file_alone_has_no_next(typed):
    said, shown = typed("n", "s", "a")
    assert said == Reply(Answer.APPROVED)
    assert shown.count("wants to create a.txt\n") == 2
    assert "[n]ext" not in shown


def test_what_goes_away_cannot_be_edited(typed):
    said, shown = typed("e", "w", change=GONE)
    assert said == Reply(Answer.WAITS)
    assert "[e]dit" not in shown


@pytest.mark.parametrize("nothing", ["", " ", "\x04", "\x1b", "."])
def test_a_rejection_without_a_reason_is_none(typed, nothing):
    said, shown = typed("r", nothing, "r", "Too Long", "a")
    assert said == Reply(Answer.REJECTED, reason="Too Long")
    assert "a rejection needs a reason: the next attempt reads it\n" in shown


def test_who_goes_away_at_the_reason_rejects_nothing(typed):
    assert typed("r")[0] == Reply(Answer.WAITS)


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("", "no editor is set\nhint: export EDITOR=vi\n"),
        ("  ", "no editor is set\n"),
        ("'vi", "invalid editor command: 'vi\n"),
        ("/no/such/editor -w", "the editor could not start: /no/such/editor\n"),
        ("false", "the editor ended with exit 1; nothing changed\n"),
        ("rm", "the editor left no file; nothing changed\n"),
    ],
)
def test_an_editor_that_comes_to_nothing_is_said_and_asked_again(typed, editor, said):
    answer, shown = typed("e", "a", editor=editor)
    assert answer == Reply(Answer.APPROVED)
    assert said in shown


def test_an_edit_with_a_key_in_it_is_refused_and_opened_again_as_it_was_left(typed, tmp_path):
    key = a_key()
    editor = an_editor(
        tmp_path,
        f"if grep -q key $1; then sed -i s/key.*/clean/ $1; else echo 'key = {key}' >> $1; fi",
    )
    answer, shown = typed("e", "e", editor=editor)
    assert answer == Reply(Answer.EDITED, content=b"one\nclean\n")
    assert f"{REFUSED}\n" in shown
    assert "a.txt:2: secret found" in shown
    assert key not in shown


def test_a_key_that_a_person_allowed_may_be_left_in(typed, tmp_path, ground):
    key = a_key()
    ground.git("init", "-q", "-b", "main")
    ground.write("sample", f"k = '{key}'\n")
    ground.runner("secrets", "allow", "sample:1", "--reason", "a sample")
    editor = an_editor(tmp_path, f"cp {ground.folder}/sample $1")
    answer, _ = typed("e", "w", editor=editor)
    assert answer.answer is Answer.EDITED


def test_edited_raises_for_a_command_that_is_typed():
    with pytest.raises(RunnerError, match="no editor is set"):
        edit_content("a.txt", b"", {})
