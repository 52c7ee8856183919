"""Globs of anybody's plan: read in linear time, refused with their line, never raised about."""

import random
import re

import msgspec
import pytest
from growth import grows_as_its_input

from runner.model import LiteralPath
from runner.model.codec import to_json
from runner.plan.cache import load_plan
from runner.plan.checks import check_plan
from runner.plan.document import read_plan, with_literals
from runner.plan.globs import Claims, is_glob, matches, may_overlap
from runner.plan.ownership import OwnershipMap
from runner.plan.spans import Spans
from runner.writes.paths import in_scope

_HOSTILE = "**/a/" * 14


def _expression(glob):
    """A glob as a backtracking expression, written another way than the product writes it."""
    whole = glob if "/" in glob.rstrip("/") else f"**/{glob}"
    whole = whole.removeprefix("/") + ("**" if whole.endswith("/") else "")
    said = re.escape(whole).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    return re.compile(said.replace(r"\*", "[^/]*").replace(r"\?", "[^/]"), re.DOTALL)


@pytest.mark.parametrize("seed", range(2))
def test_globs_match_as_the_expression_does_however_many_stars_they_have(seed):
    chance = random.Random(seed)
    for _ in range(400):
        glob = "".join(chance.choices(["a", "b", "/", "*", "**/", "?", "/**", "."], k=6))
        glob = re.sub(r"\*{3,}", "**", glob)
        path = "".join(chance.choices("ab/.", k=chance.randint(1, 8)))
        expected = glob == path or bool(_expression(glob).fullmatch(path))
        assert matches(glob, path) == expected, (glob, path)


@pytest.mark.parametrize("seed", range(2))
def test_globs_that_name_one_file_are_said_to_overlap(seed):
    chance = random.Random(seed)
    for _ in range(400):
        one, other = (
            "/".join(chance.choices(["a", "*", "**", "a*", "*b", "?b", "[ab]", "ab"], k=4))
            for _ in range(2)
        )
        path = "/".join(chance.choices(["a", "b", "ab", "aab"], k=chance.randint(1, 6)))
        if matches(one, path) and matches(other, path):
            assert may_overlap(one, other), (one, other, path)


def test_globs_made_to_be_slow_are_answered_at_all():
    """A search that goes back does not come to an end with any of these."""
    assert not matches(f"{_HOSTILE}x", "a/" * 500 + "b")
    assert not matches("*a" * 16, "a" * 1000 + "b")
    assert not may_overlap(f"{_HOSTILE}x", f"{_HOSTILE}y")
    assert may_overlap(f"{_HOSTILE}x", f"{_HOSTILE}**/x")


@pytest.mark.parametrize(
    ("glob", "step"),
    [("**/a/" * 16 + "x", "a/"), ("*a" * 16, "ab"), ("**a*b*[a-c]*?*c*a*bb*", "abcabcaabbc/")],
)
def test_the_time_of_a_match_grows_as_the_path_does(glob, step):
    assert grows_as_its_input(lambda size: lambda: matches(glob, step * size + "z"), 20_000)


@pytest.mark.parametrize("left", ["a", "**/a", "a*", "**a"])
def test_the_time_of_a_comparison_grows_as_a_glob_does(left):
    """As the other does, too; longer ones are refused."""
    other = "**/a/" * 14 + "x"
    assert grows_as_its_input(
        lambda size: lambda: may_overlap(f"{left}/" * size + "y", other), 1000 // len(left) // 10
    )


def test_two_tasks_with_globs_made_to_be_slow_are_read_at_all():
    plan = f"# P\n\n## TASK-001: A\n\n- Output files: `{_HOSTILE}x/`\n\n"
    plan += f"## TASK-002: B\n\n- Output files: `{_HOSTILE}y/`\n"
    assert not [one for one in _problems(plan) if one.is_error]


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        ("src/[", "its `[` is never closed"),
        ("src/[]", "its `[` is never closed"),
        ("src/[!]a", "its `[` is never closed"),
        ("a[z-a]b", "its range z-a runs backwards"),
        ("*a" * 17, "it has more than 16 wildcards"),
    ],
)
@pytest.mark.parametrize("field", ["Output files", "Inputs"])
def test_a_bad_glob_is_a_mistake_with_its_line_and_what_to_do(glob, said, field):
    (found,) = [one for one in _problems(_plan(f"`{glob}`", field)) if one.is_error]
    assert found.message == f'bad glob "{glob}": {said}'
    assert (found.line, found.column) == (5, len(f"- {field}: ") + 1)
    assert found.hint
    assert not matches(glob, "src/a")


def test_a_path_longer_than_any_file_is_a_mistake_before_it_costs_anything():
    (found,) = [one for one in _problems(_plan(f"`{'a/' * 600}b`")) if one.is_error]
    assert "it is longer than 1024 bytes" in found.message


# --- paths that only look like globs --------------------------------------------------


@pytest.mark.parametrize(
    "path", ["app/[slug]/page.tsx", "app/[...rest]/x.ts", "app/(group)/[[...all]]/x.ts", "src/["]
)
def test_a_path_of_a_block_is_that_path_whatever_it_looks_like(path):
    text = _plan(f"`{path}`, `src/a`") + f'\n```txt file="{path}"\nhello\n```\n'
    task = read_plan(text.encode(), "TASK-GRAPH.md").tasks[0]
    assert task.literal == (path,)
    assert [is_glob(one) for one in task.outputs] == [False, False]
    assert in_scope(path, task.outputs)
    assert not _problems(text)


def test_a_literal_path_lets_no_other_file_be_written():
    outputs = (LiteralPath("app/[slug]/page.tsx"),)
    assert in_scope("app/[slug]/page.tsx", outputs)
    assert not in_scope("app/s/page.tsx", outputs)
    assert not may_overlap(outputs[0], "app/s/*")
    assert Claims([("A", outputs[0])]).of("app/s/page.tsx") == []
    assert in_scope("app/s/page.tsx", ("app/[slug]/page.tsx",)), "a glob, where no such file is"


def test_a_path_of_a_file_that_is_there_is_taken_as_it_stands():
    plan = read_plan(_plan("`app/[slug]/page.tsx`, `src/*.py`").encode(), "TASK-GRAPH.md")
    known = with_literals(plan, {"app/[slug]/page.tsx"}.__contains__)
    assert known.tasks[0].literal == ("app/[slug]/page.tsx",)
    assert with_literals(plan, lambda _: False) is plan


def test_literal_paths_survive_the_cache_a_copy_and_the_wire(tmp_path):
    data = (_plan("`app/[slug]/x`, `a*`") + '\n```txt file="app/[slug]/x"\nx\n```\n').encode()
    first = load_plan(data, "TASK-GRAPH.md", tmp_path).tasks[0]
    second = load_plan(data, "TASK-GRAPH.md", tmp_path).tasks[0]
    for one in (first, second, msgspec.structs.replace(second, title="other")):
        assert [type(path) for path in one.outputs] == [LiteralPath, str]
    assert first == second
    assert to_json(second)["literal"] == ["app/[slug]/x"]


# --- the ownership map ----------------------------------------------------------------


def test_a_row_of_the_map_that_looks_like_a_glob_owns_the_file_of_that_name():
    read = OwnershipMap.read(b"| File | Tasks |\n|---|---|\n| `app/[slug]/x.ts` | TASK-001 |\n")
    assert read.owners("app/[slug]/x.ts") == ("TASK-001",)
    assert read.problems == ()


@pytest.mark.parametrize("glob", ["src/[z-a]*", "a[", "x/**/" * 17 + "y", "a*\\"])
def test_a_bad_glob_in_the_map_is_told_and_owns_nothing(glob):
    data = f"| File | Tasks |\n|---|---|\n| `{glob}` | TASK-001 |\n".encode()
    read = OwnershipMap.read(data)
    assert [one.line for one in read.problems] == [3]
    assert not any(one.is_error for one in read.problems)
    assert read.owners("src/a") == ()


def _plan(paths, field="Output files"):
    return f"# P\n\n## TASK-001: One\n\n- {field}: {paths}\n"


def _problems(text):
    data = text.encode()
    plan = read_plan(data, "TASK-GRAPH.md")
    whole = check_plan(
        plan.tasks,
        places=Spans(data, "TASK-GRAPH.md"),
        found=lambda _: True,
        exists=lambda _: True,
    )
    return [*plan.problems, *(one for one in whole if "no test contracts" not in one.message)]
