"""Apply, Edit and Reject as a person does them: the real command at a real terminal."""

import sys

import pytest
from commands_terminal import Terminal
from pipeline_build import CONTROL, TERMINAL, AtTerminal, a_key

from runner.journal.events import WriteRejected, WriteReviewed
from runner.journal.records import read_journal
from runner.project import JOURNAL

QUESTION = "[a]pply, [e]dit, [r]eject, [s]how again, or [w]ait? "


@pytest.fixture
def repository(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("app.py", "def total(price):\n    return price\n")
    ground.write("proposed", "def total(price):\n    return price + tax\n")
    return ground


def staging(ground, **variables):
    words = ("--task", "TASK-001", "--file", "app.py", "--content", "proposed")
    return AtTerminal(ground.folder, "staged-write", "stage", *words, **variables)


def events(ground, kind):
    journal = read_journal(ground.folder / JOURNAL)
    return [record.event for record in journal if isinstance(record.event, kind)]


def editor(ground, text):
    ground.write("editor.py", f"import sys\nopen(sys.argv[1], 'w').write({text!r})\n")
    return f"{sys.executable} {ground.folder / 'editor.py'}"


def test_apply_shows_a_coloured_diff_and_writes_what_it_showed(repository):
    terminal = staging(repository)
    shown = terminal.until(QUESTION)
    assert "\x1b[7m + tax\x1b[0m" in shown
    assert "TASK-001 wants to modify app.py" in shown
    terminal.type("a")
    assert terminal.end() == 0
    assert (repository.folder / "app.py").read_text().endswith("price + tax\n")
    assert [one.review for one in events(repository, WriteReviewed)] == ["applied"]


def test_reject_asks_for_the_reason(repository):
    terminal = staging(repository)
    terminal.until(QUESTION)
    terminal.type("r")
    terminal.until("why? ")
    terminal.type("")  # no reason: it asks again what to do
    terminal.until(QUESTION)
    terminal.type("reject")
    terminal.until("why? ")
    terminal.type("tax is in the price")
    assert terminal.end() == 1
    assert [one.reason for one in events(repository, WriteRejected)] == ["tax is in the price"]
    assert (repository.folder / "app.py").read_text().endswith("return price\n")


def test_an_edit_is_shown_again_before_it_is_written(repository):
    terminal = staging(repository, VISUAL=editor(repository, "def total(): ...\n"))
    terminal.until(QUESTION)
    terminal.type("e")
    shown = terminal.until(QUESTION)
    assert "total():" in TERMINAL.sub("", shown)
    terminal.type("a")
    assert terminal.end() == 0
    assert (repository.folder / "app.py").read_text() == "def total(): ...\n"
    assert [one.review for one in events(repository, WriteReviewed)] == ["edited"]


def test_an_edit_with_a_key_in_it_is_refused(repository):
    key = a_key()
    terminal = staging(repository, VISUAL=editor(repository, f"k = '{key}'\n"))
    terminal.until(QUESTION)
    terminal.type("e")
    assert "your edit was refused; the proposal is unchanged" in terminal.until(QUESTION)
    terminal.type("a")
    assert terminal.end() == 0
    assert "secret found" in terminal.said
    assert key not in terminal.said
    assert (repository.folder / "app.py").read_text().endswith("price + tax\n")


def test_an_editor_that_comes_to_nothing_is_no_end(repository):
    terminal = staging(repository, VISUAL="rm", EDITOR="")
    terminal.until(QUESTION)
    terminal.type("e")
    assert "the editor left no file; nothing changed" in terminal.until(QUESTION)
    terminal.type("w")
    assert terminal.end() == 3


@pytest.mark.parametrize("answer", ["w", "", "\x04"])
def test_who_does_not_decide_now_finds_it_later(repository, answer):
    terminal = staging(repository)
    terminal.until(QUESTION)
    terminal.type(answer)
    assert terminal.end() == 3
    assert "staged as " in terminal.said
    assert (repository.folder / "app.py").read_text().endswith("return price\n")


def test_an_answer_that_is_none_is_asked_again(repository):
    terminal = staging(repository)
    terminal.until(QUESTION)
    terminal.type("x")
    terminal.until(QUESTION)
    terminal.type("s")
    assert "@@ -1,2 +1,2 @@" in terminal.until(QUESTION)
    terminal.type("w")
    assert terminal.end() == 3


def test_a_file_that_changes_while_the_question_stands_is_not_written_over(repository):
    terminal = staging(repository)
    terminal.until(QUESTION)
    repository.write("app.py", "mine\n")
    terminal.type("a")
    assert terminal.end() == 6
    assert "the file changed since it was staged" in terminal.said
    assert (repository.folder / "app.py").read_text() == "mine\n"


def test_a_long_diff_goes_through_the_pager(repository):
    repository.write("proposed", "".join(f"line {n}\n" for n in range(200)))
    repository.write("pager.py", "import sys\nprint('PAGED', len(open(sys.argv[1]).readlines()))\n")
    terminal = staging(repository, PAGER=f"{sys.executable} {repository.folder / 'pager.py'}")
    assert "PAGED 20" in terminal.until(QUESTION)
    assert "line 150" not in terminal.said
    terminal.type("w")
    assert terminal.end() == 3


def test_a_pager_that_is_not_there_is_no_reason_not_to_show(repository):
    repository.write("proposed", "".join(f"line {n}\n" for n in range(200)))
    terminal = staging(repository, PAGER="no-such-pager-here")
    assert "line 150" in TERMINAL.sub("", terminal.until(QUESTION))
    terminal.type("w")
    assert terminal.end() == 3


def test_nothing_that_is_proposed_moves_the_terminal(repository):
    hostile = "x = 1  # \x1b[2J\x1b]0;title\x07 \u202e\u200b\x9b1m \x1b]8;;http://evil\x07\n"
    repository.write("proposed", hostile)
    terminal = staging(repository)
    shown = TERMINAL.sub("", terminal.until(QUESTION))
    assert CONTROL.search(shown) is None
    assert "\\x1b[2J\\x1b]0;title\\x07 \\u202e\\u200b\\x9b1m" in shown
    terminal.type("w")
    terminal.end()


def test_colours_are_left_out_where_nobody_wants_them(repository):
    terminal = staging(repository, TERM="dumb")
    assert "\x1b" not in terminal.until(QUESTION)
    terminal.type("w")
    terminal.end()


def test_a_pager_that_nobody_can_read_is_none():
    text = "from runner.terminal.screen import show\nshow('line\\n' * 99, {'PAGER': \"less '\"})"
    with Terminal((sys.executable, "-c", text)) as terminal:
        assert terminal.wait() == 0
        assert terminal.said.count("line") == 99
