"""Who wrote a line, as a person asks for it."""

import pytest
from growth import grows_as_its_input
from history_build import cloned, commit_of
from workplace import a_task

from runner.history.blame import Line, stretches


def test_every_stretch_of_a_file_names_its_task_and_attempt(shop):
    said = shop.runner("blame", "a.txt")
    first, second = said.out.splitlines()
    assert said.code == 0
    assert first.strip().startswith("1-6  TASK-001 attempt 1 · ")
    assert second.strip().startswith("7  TASK-002 attempt 1 · ")
    assert second.endswith(f"{commit_of(shop, 'TASK-002')[:12]} feat(TASK-002): second")


def test_one_line_shows_the_review_and_the_proof_behind_it(shop):
    said = shop.runner("blame", "a.txt:2")
    assert said.out.splitlines()[0] == "2: two"
    assert "TASK-001 attempt 1" in said.out
    assert "review: off" in said.out
    assert "proof: TC-001 pass exit=0" in said.out


def test_a_task_without_a_proof_says_so(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}))
    workplace.run()
    assert "proof: none recorded" in workplace.runner("blame", "a.txt:1").out


def test_lines_by_hand_and_lines_no_commit_has_are_told_apart(shop):
    shop.commit({"a.txt": shop.read("a.txt") + "mine\n"}, message="by hand")
    shop.write({"a.txt": shop.read("a.txt") + "unsaved\n"})
    lines = shop.runner("blame", "a.txt").out.splitlines()
    assert "Ada, manually · " in lines[2]
    assert lines[3].strip() == "9  not committed yet"


def test_the_json_document_has_all_of_it(shop):
    found = shop.runner("blame", "a.txt:1", "--json").document
    (line,) = found["lines"]
    assert (found["kind"], found["path"], found["line"]) == ("blame", "a.txt", 1)
    assert line["source"]["task"] == "TASK-001"
    assert line["source"]["attempt"] == 1
    assert line["source"]["kind"] == "task"
    assert len(line["source"]["spec"]) == 2
    assert line["lines"] == ["one"]


def test_a_clone_without_a_journal_tells_the_same(shop, tmp_path):
    clone = cloned(shop, tmp_path / "clone")
    assert clone.runner("blame", "a.txt:2").out == shop.runner("blame", "a.txt:2").out


def test_it_answers_from_a_folder_below(shop):
    shop.commit({"deep/d.txt": "d\n"}, message="deep")
    assert ", manually · " in shop.runner("blame", "d.txt", here="deep").out
    assert "TASK-001" in shop.runner("blame", "../a.txt:1", here="deep").out


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("a.txt:99", "a.txt has no line 99"),
        ("a.txt:0", "line numbers start at 1"),
        ("nothing.txt", "no commit contains this file"),
        ("../outside.txt", "the file is outside the repository"),
        (".", "expected a file, got a folder"),
    ],
)
def test_what_cannot_be_told_is_said_in_words(shop, place, said):
    ended = shop.runner("blame", place)
    assert ended.code == 2
    assert said in ended.err


def test_a_repositorys_own_programs_are_not_run(shop, tmp_path):
    mark = tmp_path / "ran"
    shop.git("config", "diff.bad.textconv", f"touch {mark}; cat")
    shop.git("config", "filter.bad.clean", f"touch {mark}; cat")
    shop.write({".gitattributes": "*.txt diff=bad filter=bad\n"})
    assert shop.runner("blame", "a.txt").code == 0
    assert not mark.exists()


def test_a_long_file_of_one_source_is_one_stretch_and_costs_its_lines():
    def make(size):
        lines = [Line(at, "x", "", at, "a.txt") for at in range(1, size + 1)]
        return lambda: stretches(None, lines, lambda _commit, _task: ())

    (one,) = make(3)()
    assert (one.first, one.last, one.lines) == (1, 3, ("x", "x", "x"))
    assert grows_as_its_input(make, 4_000)
