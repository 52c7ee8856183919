"""An implementer that reports why a task cannot be done as written is not called again."""

import pytest
from workplace import a_task

REPORT = "I cannot, because b.txt is missing."
SAYS = {
    "as the last line": f"echo looked; echo '{REPORT}'",
    "before another line": f"echo '{REPORT}'; echo 'Tell me where it is.'",
    "in bold": f"echo '**{REPORT}**'",
    "with a failure": f"echo '{REPORT}'; exit 1",
}
GOES_ON = {
    "with a change": f"echo '{REPORT}'; echo 1 > a.txt",
    "as the example of a brief": "echo 'I cannot, because …'; echo 1 > a.txt",
    "inside a sentence": "echo 'It says: I cannot, because it has no file.'",
}


def begin(workplace, command):
    workplace.plan(
        a_task("TASK-001", "One", outputs=["a.txt"], command=command, tests=["test -s a.txt"])
    )
    return workplace.run("--no-sandbox", "--review", "off")


@pytest.mark.parametrize("command", SAYS.values(), ids=SAYS)
def test_it_blocks_the_task_at_once_with_its_reason(workplace, command):
    ended = begin(workplace, command)
    assert ended.code == 1, ended.said
    assert workplace.status_line("TASK-001").endswith(f"BLOCKED — {REPORT}")
    assert f"implementer: {REPORT}" in ended.out
    assert len(workplace.happened("attempt.started")) == 1


@pytest.mark.parametrize("command", GOES_ON.values(), ids=GOES_ON)
def test_other_words_are_no_report(workplace, command):
    begin(workplace, command)
    assert "cannot" not in workplace.status_line("TASK-001")


def test_the_task_is_built_once_the_plan_is_changed(workplace):
    begin(workplace, f"test -e b.txt && cp b.txt a.txt || echo '{REPORT}'")
    workplace.commit({"b.txt": "1\n"})
    workplace.edit_plan("test -e b.txt && cp b.txt a.txt || ", "cp b.txt a.txt; ")
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.code == 0, ended.said
