from runner.context.patterns import PatternSearch, decisions_for, match_patterns, read_decisions
from runner.model import Spec, Task
from runner.plan.patterns import PatternIndex

INDEX = b"""\
| Pattern | Title | Domain | Stack | Keywords | File |
|---|---|---|---|---|---|
| PATTERN-001 | Optimism | database | sqlalchemy | lock, version | `patterns/PATTERN-001.md` |
| PATTERN-002 | Escape | ui | react | html | `../PATTERN-002.md` |
| PATTERN-003 | Link | ui | react | html | `patterns/link.md` |
"""


def a_task(**fields):
    return Task(**{"id": "TASK-001", "title": "x", "line": 1, "spec": Spec("", ""), **fields})


def matched(root, index, task, stack=()):
    return match_patterns(root, index, PatternSearch.of(index, task, stack))


def library(root):
    (root / "patterns").mkdir()
    (root / "patterns" / "PATTERN-001.md").write_text("Count versions.\n")
    (root / "patterns" / "link.md").symlink_to("/etc/hostname")
    return PatternIndex.read(INDEX)


def test_a_pattern_is_found_by_its_words_and_comes_with_its_text(tmp_path):
    index = library(tmp_path)
    task = a_task(stack=("sqlalchemy",), keywords=("lock",))
    (found,) = matched(tmp_path, index, task)
    assert (found.id, found.title) == ("PATTERN-001", "Optimism")
    assert found.text == "Count versions.\n"
    assert found.because == ("stack sqlalchemy", "keyword lock")


def test_the_words_of_the_repository_count_too(tmp_path):
    index = library(tmp_path)
    found = matched(tmp_path, index, a_task(keywords=("lock",)), ("sqlalchemy",))
    assert [pattern.id for pattern in found] == ["PATTERN-001"]


def test_a_pattern_outside_the_repository_or_behind_a_link_has_no_text(tmp_path):
    index = library(tmp_path)
    (tmp_path.parent / "PATTERN-002.md").write_text("outside")
    found = matched(tmp_path, index, a_task(patterns=("PATTERN-002", "PATTERN-003")))
    assert [(pattern.id, pattern.text) for pattern in found] == [
        ("PATTERN-002", ""),
        ("PATTERN-003", ""),
    ]
    assert all(pattern.note for pattern in found)


def test_a_pattern_that_is_named_and_not_in_the_index_is_said_to_be_missing(tmp_path):
    (found,) = matched(tmp_path, library(tmp_path), a_task(patterns=("pattern 9",)))
    assert (found.id, found.note) == ("PATTERN-009", "not found in PATTERN_INDEX.md")


def test_a_domain_of_the_same_kind_fits_and_payment_is_told_by_the_text():
    index = PatternIndex.read(
        b"| Pattern | Title | Domain | Stack | Keywords | File |\n|---|---|---|---|---|---|\n"
        b"| PATTERN-001 | Rows | database | | | |\n| PATTERN-002 | Money | payment | | | |\n"
        b"| PATTERN-003 | Locks | other | | locking | |\n"
    )

    def found(**fields):
        search = PatternSearch.of(index, a_task(**fields))
        return [match.pattern.id for match in search.matches(index, 3)]

    assert found(type="migration") == ["PATTERN-001"]
    assert found(title="Refunds") == ["PATTERN-002"]
    assert found(title="Optimistic locking for bookings") == ["PATTERN-003"]
    assert found(title="Something odd") == []


def test_the_journal_can_say_by_what_it_was_searched(tmp_path):
    index = library(tmp_path)
    task = a_task(type="auth", keywords=("jwt",), patterns=("PATTERN-002",))
    told = PatternSearch.of(index, task, ("sqlalchemy", "rich")).describe(index)
    assert told[0] == f"{len(index.patterns)} patterns"
    assert {"domain auth", "keyword jwt", "named PATTERN-002"} <= set(told)
    assert "stack rich" not in told


def test_where_there_is_no_pattern_only_who_must_have_searched_says_so():
    none = PatternIndex.read(b"")
    assert PatternSearch.of(none, a_task(type="ui")).describe(none) == ()
    for fields in ({"type": "auth"}, {"type": "migration"}, {"title": "Stripe checkout"}):
        assert PatternSearch.of(none, a_task(**fields)).describe(none)[0] == "0 patterns"


TEXT = """\
# Decisions

Words of a person.

## DECISION-001: Optimistic locking
Date: 2026-11-21
Task: TASK-018
Context: Row locks deadlocked.
Decision: At most 3 retries.
Trade-off: Some retries.
Pattern: candidate for PATTERN-007

## DECISION-002: By hand

**Task:** TASK-003

**Context:** see `src/booking/store.py`

## DECISION-003: Nothing to add
Task: —
Context: —
Decision: Nothing to add
Trade-off: —
"""


def told(task="TASK-099", *, needs=(), owners=(), files=()):
    found = decisions_for(read_decisions(TEXT), task=task, needs=needs, owners=owners, files=files)
    return [(one.id, one.because) for one in found]


def test_the_entries_are_read_with_number_task_and_fields():
    one, two, three = read_decisions(TEXT)
    assert (one.id, one.task, one.date, one.is_candidate) == (
        "DECISION-001",
        "TASK-018",
        "2026-11-21",
        True,
    )
    assert one.decision.tradeoff == "Some retries."
    assert (two.task, two.decision.context, two.is_candidate) == (
        "TASK-003",
        "see `src/booking/store.py`",
        False,
    )
    assert (three.task, three.decision.context, three.decision.tradeoff) == ("", "", "")


def test_those_touch_a_task_that_were_made_for_it_for_what_it_needs_or_for_its_files():
    assert told() == []
    assert told("TASK-018") == [("DECISION-001", "made for this task")]
    assert told(needs=("TASK-018",)) == [
        ("DECISION-001", "made for TASK-018, which this task builds on")
    ]
    assert told(owners={"TASK-003"}) == [
        ("DECISION-002", "made for TASK-003, which owns files of this task")
    ]


def test_a_decision_that_names_a_file_touches_it_and_not_one_that_only_ends_alike():
    assert told(files=("src/booking/store.py",)) == [("DECISION-002", "names src/booking/store.py")]
    assert told(files=("lib/store.py",)) == []
    assert told(files=("ore.py",)) == []


def test_the_latest_comes_first_and_an_empty_file_has_none():
    both = told("TASK-018", files=("src/booking/store.py",))
    assert [id_ for id_, _ in both] == ["DECISION-002", "DECISION-001"]
    assert read_decisions("") == ()
    assert read_decisions("# Decisions\n\nnone yet\n") == ()


def test_prose_behind_an_empty_line_belongs_to_no_field():
    text = (
        "## DECISION-001: Text\n\nContext: small\n\nDecision: files\nof text\n\n"
        "Some words of a person.\n\nTrade-off: none\n"
    )
    (one,) = read_decisions(text)
    assert one.decision.context == "small"
    assert one.decision.decision == "files of text"
    assert one.decision.tradeoff == "none"
