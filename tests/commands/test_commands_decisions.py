"""`plan decide` and `plan pattern`: decisions, and those that become patterns."""

import multiprocessing
import os

import pytest
from commands_build import a_ground

from runner.journal.events import DecisionMade
from runner.journal.lock import RunLock
from runner.model import Decision
from runner.project import BUILD, DECISIONS

HEAD = "| Pattern | Title | Domain | Stack | Keywords | File |\n|---|---|---|---|---|---|\n"
INDEX = (
    f"# Patterns\n\nOurs.\n\n{HEAD}"
    "| PATTERN-001 | Optimistic locking | database | sqlalchemy | lock, version |"
    " `patterns/PATTERN-001.md` |\n"
    "| PATTERN-003 | Signed cookies | auth | flask | session | |\n\nBelow.\n"
)


@pytest.fixture
def library(ground):
    a_ground(ground, "A")
    ground.write("PATTERN_INDEX.md", INDEX)
    return ground


def decided(ground, pattern="candidate", **more):
    words = [word for name, text in more.items() for word in (f"--{name}", text)]
    said = ground.runner(
        *("decide", "Retry on conflict", "--task", "1", "--pattern", pattern),
        *("--decision", "At most 3 retries.", *words),
    )
    return said.out.split(" ")[0]


def index(ground):
    return (ground.folder / "PATTERN_INDEX.md").read_bytes().decode()


def test_the_library_is_listed(library):
    assert library.runner("pattern") == (
        0,
        (
            "PATTERN      TITLE               DOMAIN    STACK       KEYWORDS\n"
            "PATTERN-001  Optimistic locking  database  sqlalchemy  lock, version\n"
            "PATTERN-003  Signed cookies      auth      flask       session\n"
        ),
        "",
    )
    document = library.runner("pattern", "list", "--json").json
    assert [one["id"] for one in document["patterns"]] == ["PATTERN-001", "PATTERN-003"]


def test_words_find_patterns_by_domain_stack_keyword_and_title_the_best_first(library):
    assert library.runner("pattern", "search", "Lock", "auth").out == (
        "PATTERN      TITLE               BECAUSE\n"
        "PATTERN-003  Signed cookies      domain auth\n"
        "PATTERN-001  Optimistic locking  keyword lock\n"
    )
    found = library.runner("pattern", "search", "sqlalchemy", "--json").json["patterns"]
    assert [(one["pattern"]["id"], one["because"]) for one in found] == [
        ("PATTERN-001", ["stack sqlalchemy"])
    ]
    assert library.runner("pattern", "search", "nothing").out == "no pattern matches nothing\n"


def test_a_candidate_becomes_a_file_and_a_row_with_the_next_number(library):
    id_ = decided(library, context="Two bookings at once.", tradeoff="Some retries.")
    assert library.runner("pattern", "accept", id_) == (
        0,
        "DECISION-001 is now PATTERN-004: patterns/PATTERN-004.md, listed in PATTERN_INDEX.md\n",
        "",
    )
    row = "| PATTERN-004 | Retry on conflict |  |  |  | `patterns/PATTERN-004.md` |\n"
    assert index(library) == INDEX.replace("\n\nBelow.", f"\n{row}\nBelow.")
    assert (library.folder / "patterns/PATTERN-004.md").read_text() == (
        "# PATTERN-004: Retry on conflict\n\n"
        "- Decision: DECISION-001\n- Task: TASK-001\n\n"
        "## When\n\nTwo bookings at once.\n\n## Do\n\nAt most 3 retries.\n\n"
        "## Trade-off\n\nSome retries.\n\n## Examples\n\n- `a.txt`\n"
    )
    assert "PATTERN-004" in library.runner("pattern", "search", "retry").out


def test_the_number_that_the_decision_names_is_taken_where_it_is_free(library):
    decided(library, "candidate for PATTERN-007")
    decided(library, "candidate for PATTERN-001")
    library.write("patterns/PATTERN-009.md", "a person's own\n")
    assert library.runner("pattern", "accept", "1").out.startswith(
        "DECISION-001 is now PATTERN-007:"
    )
    assert library.runner("pattern", "accept", "2").out.startswith(
        "DECISION-002 is now PATTERN-010:"
    )


def test_accepting_again_changes_nothing(library):
    decided(library)
    first = library.runner("pattern", "accept", "DECISION-001", "--json").json
    before = index(library)
    again = library.runner("pattern", "accept", "decision 1", "--json").json
    assert (first["pattern"], first["written"]) == ("PATTERN-004", True)
    assert (again["pattern"], again["written"]) == ("PATTERN-004", False)
    assert index(library) == before
    assert library.runner("pattern", "accept", "1").out == (
        "DECISION-001 is already PATTERN-004: patterns/PATTERN-004.md\n"
    )


def test_a_row_that_a_crash_kept_from_the_index_is_added_by_the_next_try(library):
    decided(library)
    library.runner("pattern", "accept", "1")
    library.write("PATTERN_INDEX.md", INDEX)
    assert "is now PATTERN-004:" in library.runner("pattern", "accept", "1").out
    assert index(library).count("PATTERN-004") == 2


def test_type_stack_and_keywords_of_the_task_go_into_the_row_and_its_files_are_examples(library):
    plan = library.folder / "TASK-GRAPH.md"
    fields = "- Type: data\n- Stack: sqlalchemy\n- Keywords: lock, a|b\n- Output"
    plan.write_text(plan.read_text().replace("- Output", fields))
    decided(library)
    library.runner("pattern", "accept", "1")
    assert (
        "| PATTERN-004 | Retry on conflict | data | sqlalchemy | lock, a\\|b |"
        " `patterns/PATTERN-004.md` |\n"
    ) in index(library)
    found = library.runner("pattern", "list", "--json").json["patterns"][-1]
    assert found["keywords"] == ["lock", "a|b"]


def test_more_columns_line_ends_and_a_missing_last_line_end_stay_as_they_were(library):
    decided(library)
    rows = "| Owner | Title | Pattern |\r\n|---|---|---|\r\n| Ada | x | PATTERN-001 |"
    text = f"\ufeff# P\r\n\r\n{rows}"
    (library.folder / "PATTERN_INDEX.md").write_bytes(text.encode())
    library.runner("pattern", "accept", "1")
    added = "\r\n|  | Retry on conflict | PATTERN-002 |"
    assert (library.folder / "PATTERN_INDEX.md").read_bytes() == (text + added).encode()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["accept", "DECISION-009"],
            (
                "runner: unknown decision DECISION-009 (artifacts/build/DECISIONS.md)\n"
                "hint: candidates: DECISION-001\n"
            ),
        ),
        (
            ["accept", "2"],
            (
                "runner: DECISION-002 is not marked as a candidate (artifacts/build/DECISIONS.md)\n"
                "hint: add `Pattern: candidate` below it, then accept it again\n"
            ),
        ),
        (
            ["accept"],
            "runner: expected a decision ID\nhint: runner plan pattern accept DECISION-007\n",
        ),
        (
            ["accept", "x"],
            "runner: expected a decision ID\nhint: runner plan pattern accept DECISION-007\n",
        ),
        (
            ["search"],
            "runner: no search words\nhint: runner plan pattern search locking sqlalchemy\n",
        ),
        (["list", "x"], "runner: `list` takes no arguments\nhint: runner plan pattern search x\n"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(library, words, error):
    decided(library)
    decided(library, "PATTERN-001")
    assert library.runner("pattern", *words) == (2, "", error)
    assert index(library) == INDEX


def test_without_an_index_or_without_its_table_nothing_is_written(ground):
    a_ground(ground, "A")
    decided(ground)
    head = "| Pattern | Title | Domain | Stack | Keywords | File |"
    hint = f"{head} and below it |---|---|---|---|---|---|\n"
    assert ground.runner("pattern", "accept", "1") == (
        2,
        "",
        (
            "runner: PATTERN_INDEX.md not found (PATTERN_INDEX.md)\n"
            f"hint: create it with the header {hint}"
        ),
    )
    assert ground.runner("pattern").code == 2
    ground.write("PATTERN_INDEX.md", "# Patterns\n")
    assert ground.runner("pattern", "accept", "1") == (
        2,
        "",
        (
            "runner: PATTERN_INDEX.md has no table of patterns (PATTERN_INDEX.md)\n"
            f"hint: begin the table with {hint}"
        ),
    )
    assert not (ground.folder / "patterns").exists()


def test_a_decision_that_a_person_wrote_by_hand_may_become_a_pattern_too(library):
    library.write(DECISIONS, "## DECISION-012: By hand\n\n**Pattern:** Candidate\n")
    assert library.runner("pattern", "accept", "12").out.startswith(
        "DECISION-012 is now PATTERN-004:"
    )


def test_a_decision_is_written_into_the_document_and_into_the_journal(ground):
    a_ground(ground, "A")
    said = ground.runner(
        *("decide", "Optimistic locking", "--task", "1", "--context", "Row locks deadlocked."),
        *("--decision", "At most 3 retries.", "--tradeoff", "Some retries."),
    )
    assert said == (0, "DECISION-001 written to artifacts/build/DECISIONS.md\n", "")
    text = (ground.folder / DECISIONS).read_text()
    today = text.split("Date: ")[1].split("\n")[0]
    assert (
        text
        == f"""\
# Decisions

## DECISION-001: Optimistic locking
Date: {today}
Task: TASK-001
Context: Row locks deadlocked.
Decision: At most 3 retries.
Trade-off: Some retries.

"""
    )
    assert ground.runner("log").out == (
        "<time>  TASK-001  decision.made       DECISION-001: Optimistic locking\n"
    )


def test_the_number_follows_the_highest_of_file_and_journal(ground):
    a_ground(ground, "A")
    ground.journal((DecisionMade(number=4, decision=Decision("earlier")), "TASK-001", 1))
    assert "DECISION-005" in ground.runner("decide", "next").out
    file = ground.folder / DECISIONS
    file.write_text(file.read_text() + "## DECISION-011: by hand\n")
    assert "DECISION-012" in ground.runner("decide", "and next").out


def test_it_works_while_a_run_is_going_on(ground):
    a_ground(ground, "A")
    with RunLock(ground.folder / BUILD):
        assert ground.runner("decide", "meanwhile").code == 0


def _decide(number):
    from runner.cli import main

    os.close(1)
    os.open(os.devnull, os.O_WRONLY)
    main(["decide", f"choice {number}"])


def test_decisions_of_many_at_once_are_all_kept(ground):
    a_ground(ground, "A")
    context = multiprocessing.get_context("fork")
    busy = [context.Process(target=_decide, args=(number,)) for number in range(6)]
    for process in busy:
        process.start()
    for process in busy:
        process.join()
    text = (ground.folder / DECISIONS).read_text()
    assert [f"DECISION-{n:03d}:" in text for n in range(1, 7)] == [True] * 6
    assert all(f"choice {number}\n" in text for number in range(6))


def test_a_key_that_was_typed_is_not_written(ground):
    a_ground(ground, "A")
    key = "".join(("gh", "p_", *(f"{chr(65 + n)}{n % 10}{chr(97 + n)}" for n in range(12))))
    ground.runner("decide", "use the token", "--context", f"it is {key}")
    assert key not in (ground.folder / DECISIONS).read_text()
    assert key not in (ground.folder / "artifacts/build/journal.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            [" "],
            'runner: a decision needs a title\nhint: runner plan decide "What was chosen"\n',
        ),
        (
            ["x", "--task", "TASK-0O1"],
            'runner: unknown task "TASK-0O1"\nhint: did you mean "TASK-001"?\n',
        ),
        (
            [],
            (
                "runner: the following arguments are required: title\n"
                "hint: runner plan decide --help\n"
            ),
        ),
    ],
)
def test_what_makes_no_decision_is_refused_and_writes_nothing(ground, words, error):
    a_ground(ground, "A")
    assert ground.runner("decide", *words) == (2, "", error)
    assert not (ground.folder / DECISIONS).exists()


def test_a_link_in_place_of_the_document_is_not_written_through(ground):
    a_ground(ground, "A")
    ground.write("elsewhere.txt", "mine\n")
    (ground.folder / BUILD).mkdir(parents=True)
    (ground.folder / DECISIONS).symlink_to(ground.folder / "elsewhere.txt")
    said = ground.runner("decide", "x")
    assert said.code == 6
    assert "the runner never follows links" in said.err
    assert (ground.folder / "elsewhere.txt").read_text() == "mine\n"
