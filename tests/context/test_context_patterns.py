from runner.context.patterns import matched_patterns
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
    return Task(id="TASK-001", title="x", line=1, spec=Spec("", ""), **fields)


def library(root):
    (root / "patterns").mkdir()
    (root / "patterns" / "PATTERN-001.md").write_text("Count versions.\n")
    (root / "patterns" / "link.md").symlink_to("/etc/hostname")
    return PatternIndex.read(INDEX)


def test_a_pattern_is_found_by_its_words_and_comes_with_its_text(tmp_path):
    index = library(tmp_path)
    task = a_task(stack=("sqlalchemy",), keywords=("lock",))
    (found,) = matched_patterns(tmp_path, index, task)
    assert (found.id, found.title) == ("PATTERN-001", "Optimism")
    assert found.text == "Count versions.\n"
    assert found.because == ("stack sqlalchemy", "keyword lock")


def test_the_words_of_the_repository_count_too(tmp_path):
    index = library(tmp_path)
    found = matched_patterns(tmp_path, index, a_task(keywords=("lock",)), ("sqlalchemy",))
    assert [pattern.id for pattern in found] == ["PATTERN-001"]


def test_a_pattern_outside_the_repository_or_behind_a_link_has_no_text(tmp_path):
    index = library(tmp_path)
    (tmp_path.parent / "PATTERN-002.md").write_text("outside")
    found = matched_patterns(tmp_path, index, a_task(patterns=("PATTERN-002", "PATTERN-003")))
    assert [(pattern.id, pattern.text) for pattern in found] == [
        ("PATTERN-002", ""),
        ("PATTERN-003", ""),
    ]
    assert all(pattern.note for pattern in found)


def test_a_pattern_that_is_named_and_not_in_the_index_is_said_to_be_missing(tmp_path):
    (found,) = matched_patterns(tmp_path, library(tmp_path), a_task(patterns=("pattern 9",)))
    assert (found.id, found.note) == ("PATTERN-009", "PATTERN_INDEX.md has no such pattern")
