"""Patterns are found by what a task is about, always in the same order."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

from runner.plan.patterns import Pattern, PatternIndex

INDEX = PatternIndex.read(b"""# Patterns

| Pattern | Title | Domain | Stack | Keywords | File |
|---|---|---|---|---|---|
| PATTERN-001 | Optimistic locking with retry | data | sqlalchemy | lock, version, concurrency | `patterns/PATTERN-001.md` |
| pattern 2 | Pagination | api | fastapi, flask | page | [two](patterns/PATTERN-002.md) |
| PATTERN-003 | Retry \\| back off | infra | - | retry | patterns/PATTERN-003.md |
| not one | x | y | z | w | v |
""")


def names(*arguments, **options):
    return [match.pattern.id for match in INDEX.match(*arguments, **options)]


def test_rows_are_read_with_their_columns():
    assert INDEX.patterns[0] == Pattern(
        "PATTERN-001", "Optimistic locking with retry", "data", ("sqlalchemy",),
        ("lock", "version", "concurrency"), "patterns/PATTERN-001.md",
    )  # fmt: skip
    assert INDEX.patterns[2].title == "Retry | back off"
    assert INDEX.patterns[1].id == "PATTERN-002"
    assert len(INDEX.patterns) == 3


def test_the_best_fit_comes_first_and_says_why():
    (first, second) = INDEX.match("data", (), ("Lock", "retry"))
    assert (first.pattern.id, first.because) == (
        "PATTERN-001",
        ("domain data", "keyword lock", "title retry"),
    )
    assert (second.pattern.id, second.because) == ("PATTERN-003", ("keyword retry",))


def test_a_pattern_for_another_stack_does_not_fit():
    assert names("api", ("django",), ("page",)) == []
    assert names("api", ("Flask",), ("page",)) == ["PATTERN-002"]


def test_forced_patterns_come_first_even_beyond_the_limit():
    assert names("data", (), ("retry",), ("pattern 2", "PATTERN-009"), limit=2) == [
        "PATTERN-002",
        "PATTERN-001",
    ]
    assert names("x", (), (), ("PATTERN-003", "PATTERN-002"), limit=1) == [
        "PATTERN-003",
        "PATTERN-002",
    ]


def test_nothing_in_common_is_no_match():
    assert names("docs", (), ()) == []


def test_a_file_without_the_table_has_no_patterns():
    assert PatternIndex.read(b"# nothing\n").patterns == ()
