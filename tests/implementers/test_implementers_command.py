import sys

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.implementers.command import CommandLine, failure
from runner.model import Finding
from runner.process.base import Ended, Place, Ran
from runner.process.sandbox import choose_sandbox

KEY = "a-value-" + "nobody-may-see"


def implement(shop, line, **brief):
    return CommandLine(line).implement(shop.brief(**brief), shop.context)


def test_it_works_in_the_tree_and_is_told_the_task(shop):
    said = implement(shop, "echo $RUNNER_TASK $RUNNER_ATTEMPT > out; echo done", attempt=3)
    assert said.findings == ()
    assert said.summary == "done"
    assert shop.files() == {"out": "TASK-002 3\n"}


def test_the_brief_comes_on_standard_input_and_in_a_file(shop):
    said = implement(shop, 'cat > in; cmp in "$RUNNER_BRIEF"', prose="Mind the gap.")
    assert said.findings == ()
    assert "Mind the gap." in shop.files()["in"]


def test_a_command_that_does_not_read_its_input_is_fine(shop):
    assert implement(shop, "true", prose="long " * 100_000).findings == ()


def test_the_draft_of_the_attempt_before_is_there_when_there_was_one(shop):
    implement(shop, 'cp "$RUNNER_DRAFT" draft', previous="--- a\n+++ b\n")
    assert shop.files()["draft"] == "--- a\n+++ b\n"
    assert implement(shop, 'test -z "$RUNNER_DRAFT"').findings == ()


def test_decisions_are_read_from_output_and_file_each_once(shop):
    block = "DECISION: SQLite\\nContext: small\\n"
    said = implement(
        shop,
        f"printf '{block}'; printf '{block}\\nDECISION: WAL\\n' > \"$RUNNER_DECISIONS\"",
    )
    assert [decision.title for decision in said.decisions] == ["SQLite", "WAL"]


def test_a_command_that_repeats_its_brief_decides_nothing(shop):
    assert implement(shop, "cat").decisions == ()


def test_decisions_behind_a_link_or_a_pipe_are_not_read(shop, tmp_path):
    (tmp_path / "private").write_text("DECISION: stolen\n")
    link = f'ln -s {tmp_path}/private "$RUNNER_DECISIONS"'
    assert implement(shop, link).decisions == ()
    assert implement(shop, 'mkfifo "$RUNNER_DECISIONS"').decisions == ()
    assert implement(shop, 'mkdir "$RUNNER_DECISIONS"').decisions == ()


def test_secrets_are_redacted_in_decisions_and_findings(shop):

    shop.context = replace(shop.context, known_secrets=(KEY,))
    said = implement(shop, f'echo "DECISION: use {KEY}" > "$RUNNER_DECISIONS"; echo {KEY}; exit 4')
    assert KEY not in repr(said)
    assert "[REDACTED:secret]" in said.decisions[0].title


def test_failure_is_a_finding_with_the_end_of_the_output(shop):
    (finding,) = implement(shop, "seq 3; echo broken >&2; exit 4").findings
    assert (finding.check, finding.message) == ("implementer", "the command ended with exit 4")
    assert finding.detail.strip().endswith("broken")


def test_silence_and_slowness_end_it_with_a_hint(shop):
    shop.limits(idle=0.4)
    (finding,) = implement(shop, "sleep 30").findings
    assert "printed nothing for 0.4 seconds" in finding.message
    assert "idle_seconds" in finding.hint
    shop.limits(idle=10, hard=0.4)
    (finding,) = implement(shop, "while :; do echo x; sleep 0.05; done").findings
    assert "took longer than 0.4 seconds" in finding.message
    assert finding.hint == "raise the task's limit, such as - Timeout: 1 second, or make it faster"


@pytest.mark.parametrize(
    ("limit", "more"),
    [
        (1, "2 seconds"),
        (29.5, "59 seconds"),
        (30, "1 minute"),
        (120, "4 minutes"),
        (1800, "60 minutes"),
    ],
)
def test_the_hint_of_a_slow_command_is_more_than_the_limit_in_force(shop, limit, more):
    shop.limits(hard=limit)
    ran = Ran(137, limit, Ended.HARD, output="", size=0, tail="")
    assert f"- Timeout: {more}, or" in failure(ran, shop.context, "the command").hint


def test_nothing_is_left_in_the_box(shop):
    implement(shop, 'touch "$(dirname "$RUNNER_BRIEF")/rubbish"', previous="x")
    assert list(shop.box.iterdir()) == []


def test_folders_by_the_thousand_within_each_other_end_no_attempt(shop):
    dig = "import os\nfor _ in range(1300): os.mkdir('d'); os.chdir('d')\n"
    said = implement(shop, f'cd "$(dirname "$RUNNER_BRIEF")"; {sys.executable} -c "{dig}"')
    assert said.findings == ()
    assert list(shop.box.iterdir()) == []


@pytest.mark.parametrize(
    ("task", "project", "line"), [("mine", "ours", "mine"), ("", "ours", "ours")]
)
def test_the_task_s_command_comes_before_the_project_s(shop, task, project, line):
    chosen = CommandLine.for_task(shop.brief(command=task).task, settings_of(command=project))
    assert chosen == CommandLine(line)
    assert not chosen.repeatable


def test_without_any_command_there_is_a_hint(shop):
    finding = CommandLine.for_task(shop.brief().task, Settings())
    assert isinstance(finding, Finding)
    assert "Command" in finding.hint


def test_in_a_sandbox_it_finds_its_papers_and_changes_the_tree(shop, tmp_path):
    shown = tmp_path / "repository"
    shown.mkdir()
    sandbox = choose_sandbox("auto")
    if not sandbox.contains:
        pytest.skip(f"no sandbox here: {sandbox.reason}")
    shop.context = replace(
        shop.context, sandbox=sandbox, place=Place(tree=shop.tree, shown=shown, box=shop.box)
    )
    said = implement(
        shop,
        'pwd > where; cp "$RUNNER_BRIEF" brief; cp "$RUNNER_DRAFT" draft;'
        ' echo "DECISION: here" > "$RUNNER_DECISIONS"',
        previous="+x\n",
    )
    assert said.findings == ()
    assert [decision.title for decision in said.decisions] == ["here"]
    assert shop.files()["where"] == f"{shown}\n"
    assert shop.files()["draft"] == "+x\n"
    assert list(shown.iterdir()) == []
