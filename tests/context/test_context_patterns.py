from runner.context.patterns import PatternSearch, match_patterns
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


def library(root):
    (root / "patterns").mkdir()
    (root / "patterns" / "PATTERN-001.md").write_text("Count versions.\n")
    (root / "patterns" / "link.md").symlink_to("/etc/hostname")
    return PatternIndex.read(INDEX)


def test_a_pattern_is_found_by_its_words_and_comes_with_its_text(tmp_path):
    index = library(tmp_path)
    task = a_task(stack=("sqlalchemy",), keywords=("lock",))
    (found,) = match_patterns(tmp_path, index, task)
    assert (found.id, found.title) == ("PATTERN-001", "Optimism")
    assert found.text == "Count versions.\n"
    assert found.because == ("stack sqlalchemy", "keyword lock")


def test_the_words_of_the_repository_count_too(tmp_path):
    index = library(tmp_path)
    found = match_patterns(tmp_path, index, a_task(keywords=("lock",)), ("sqlalchemy",))
    assert [pattern.id for pattern in found] == ["PATTERN-001"]


def test_a_pattern_outside_the_repository_or_behind_a_link_has_no_text(tmp_path):
    index = library(tmp_path)
    (tmp_path.parent / "PATTERN-002.md").write_text("outside")
    found = match_patterns(tmp_path, index, a_task(patterns=("PATTERN-002", "PATTERN-003")))
    assert [(pattern.id, pattern.text) for pattern in found] == [
        ("PATTERN-002", ""),
        ("PATTERN-003", ""),
    ]
    assert all(pattern.note for pattern in found)


def test_a_pattern_that_is_named_and_not_in_the_index_is_said_to_be_missing(tmp_path):
    (found,) = match_patterns(tmp_path, library(tmp_path), a_task(patterns=("pattern 9",)))
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
