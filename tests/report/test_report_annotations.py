"""What GitHub is told: commands it obeys, and a page on which nothing is markup of ours."""

from report_results import some_results

from runner.model import Status
from runner.report.annotations import MOST_ROWS, step_summary, workflow_commands
from runner.report.results import Results, TaskResult


def test_findings_stand_beside_their_lines():
    lines = list(workflow_commands(some_results()))
    assert lines[0] == ("::warning file=src/a.py,line=9,title=TASK-001 markers::a new `noqa`")
    assert lines[1] == (
        "::error file=src/a%2Cb%3Ac.py,line=3,col=7,title=TASK-002 TC-002::"
        "100%25 wrong: ]]> <b> & \\x1b[31m\\u202e\uffff%0A```%0Aassert 1 == 2\\x00%0D%0A"
        "::error::no%0A%0Ahint: mend | it"
    )


def test_a_task_without_findings_stands_beside_its_heading():
    lines = list(workflow_commands(some_results()))
    assert lines[2:] == [
        "::error file=TASK-GRAPH.md,line=15,title=TASK-003::tool tsc is not on PATH"
    ]


def test_every_command_is_one_line_so_that_no_finding_gives_a_command_of_its_own():
    for line in workflow_commands(some_results()):
        assert "\n" not in line
        assert "\r" not in line


def test_paths_begin_at_the_top_of_the_repository():
    lines = list(workflow_commands(some_results(folder="services/booking")))
    assert lines[0].startswith("::warning file=services/booking/src/a.py,")


def test_the_page_has_a_row_a_task_and_what_kept_tasks_back():
    page = step_summary(some_results())
    lines = page.splitlines()
    assert lines[0] == '## Bookings "&lt;1\\>" \\\\x1b'
    assert "5 tasks: 1 PENDING, 1 DONE, 2 BLOCKED, 1 STALE in 12.5 s" in lines
    assert "| TASK\\-001 Model | ✅ DONE | 1/1 | 2 | 2.5 s |" in lines
    assert "| TASK\\-004 Docs | PENDING | — | — | — |" in lines
    assert "### TASK\\-003: tool tsc is not on PATH" in lines


def test_nothing_from_outside_is_markup_on_the_page():
    page = step_summary(some_results())
    assert "<b>" not in page
    assert "@everyone" not in page
    assert "| TASK\\-002 API &lt;b\\>\\|x\\|&#64;everyone | ❌ BLOCKED |" in page
    assert "\x1b" not in page


def test_a_fence_is_longer_than_any_in_what_it_holds():
    page = step_summary(some_results())
    start = page.index("  ````text\n")
    assert page[start:].splitlines()[1] == "  ```"
    assert "\n  ````\n" in page[start:]


def test_a_page_of_many_tasks_says_how_many_more_there_are():
    tasks = tuple(
        TaskResult(f"TASK-{number}", "t", 1, Status.DONE) for number in range(MOST_ROWS + 7)
    )
    page = step_summary(Results("Plan", "TASK-GRAPH.md", tasks, 1.0, ""))
    assert "| … and 7 more | | | | |" in page
    assert len(page) < 1_000_000
