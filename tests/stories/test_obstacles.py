"""An implementer that reports why a task cannot be done as written is not called again."""

from workplace import a_task

REPORT = "I cannot, because b.txt is missing."
SAYS = {
    "as the last line": f"echo looked; echo '{REPORT}'",
    "before another line": f"echo '{REPORT}'; echo 'Tell me where it is.'",
    "in bold": f"echo '**{REPORT}**'",
    "with a failure": f"echo '{REPORT}'; exit 1",
}
GOES_ON = {
    "with a change": f"echo '{REPORT}'; echo 2 > a.txt",
    "as the example of a brief": "echo 'I cannot, because …'; echo 1 > a.txt",
    "inside a sentence": "echo 'It says: I cannot, because it has no file.'",
}


def begin(workplace, *commands):
    workplace.plan(
        *(
            a_task(f"TASK-00{n}", outputs=["a.txt"], command=command, tests=["test -s a.txt"])
            for n, command in enumerate(commands, 1)
        )
    )
    return workplace.run("--no-sandbox", "--review", "off")


def test_it_blocks_the_task_at_once_with_its_reason(workplace):
    ended = begin(workplace, *SAYS.values())
    assert ended.code == 1, ended.said
    for number, how in enumerate(SAYS, 1):
        id_ = f"TASK-00{number}"
        assert workplace.status_line(id_).endswith(f"BLOCKED — {REPORT}"), how
        assert len(workplace.happened("attempt.started", id_)) == 1, how
    assert ended.out.count(f"implementer: {REPORT}") == len(SAYS)


def test_other_words_are_no_report(workplace):
    begin(workplace, *GOES_ON.values())
    for number, how in enumerate(GOES_ON, 1):
        assert "cannot" not in workplace.status_line(f"TASK-00{number}"), how


def test_the_task_is_built_once_the_plan_is_changed(workplace):
    begin(workplace, f"test -e b.txt && cp b.txt a.txt || echo '{REPORT}'")
    workplace.commit({"b.txt": "1\n"})
    workplace.edit_plan("test -e b.txt && cp b.txt a.txt || ", "cp b.txt a.txt; ")
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.code == 0, ended.said
