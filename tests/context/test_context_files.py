from context_build import a_task, a_tree

from runner.context.files import FileQuery, Neighbours, candidates, context_files, outlines_of
from runner.context.tree import CHARACTERS_A_TOKEN
from runner.plan.task_types import WorkType, classify

TEXTS = {
    "src/booking/__init__.py": "",
    "src/booking/models.py": "class Booking: ...\n",
    "src/booking/store.py": "from booking.models import Booking\n",
    "src/booking/clock.py": "import time\n",
    "src/far/away/deep.py": "x = 1\n",
    "examples/locking.py": "version = 1\n",
    "docs/rules.md": "# Rules\n",
    "tests/test_store.py": "from booking import store\n",
    "web/app.ts": "export const app = 1;\n",
}


def chosen(task, *, tokens=8000, texts=TEXTS, allow=(), kind=None, **wanted):
    tree = a_tree(texts, allow)
    asked = FileQuery(task, kind or WorkType(), **wanted)
    with outlines_of(tree, None) as outlines:
        return context_files(tree, Neighbours(tree, outlines), asked, tokens)


def named(files):
    return [(one.path, one.because) for one in files]


def test_with_a_plan_its_files_come_first_then_their_neighbours_then_examples_of_patterns():
    files = chosen(
        a_task(outputs=("src/**",)),
        planned=("src/booking/store.py", "docs/rules.md", "src/booking/new.py"),
        examples=("examples/locking.py",),
    )
    assert named(files) == [
        ("src/booking/store.py", "plan"),
        ("docs/rules.md", "plan"),
        ("src/booking/models.py", "neighbour"),
        ("tests/test_store.py", "neighbour"),
        ("examples/locking.py", "pattern"),
    ]


def test_without_a_plan_come_the_inputs_the_outputs_their_neighbours_and_the_nearest_of_a_kind():
    task = a_task(outputs=("src/booking/store.py", "src/booking/new.py"), inputs=("docs/*.md",))
    assert named(chosen(task)) == [
        ("docs/rules.md", "task"),
        ("src/booking/store.py", "task"),
        ("src/booking/models.py", "neighbour"),
        ("tests/test_store.py", "neighbour"),
        ("src/booking/clock.py", "kind"),
        ("examples/locking.py", "kind"),
        ("src/far/away/deep.py", "kind"),
    ]


def test_the_budget_is_kept_and_a_smaller_file_takes_the_place_of_one_that_does_not_fit():
    texts = {
        "src/a.py": "import b\nimport c\n" + "a = 1\n" * 100,
        "src/b.py": "b = 1\n" * 1000,
        "src/c.py": "c = 1\n" * 20,
    }
    files = chosen(a_task(outputs=("src/a.py",)), tokens=500, texts=texts)
    assert [one.path for one in files] == ["src/a.py", "src/c.py"]
    assert sum(len(one.text) for one in files) <= 500 * CHARACTERS_A_TOKEN


def test_of_a_file_of_the_task_itself_at_least_the_beginning_is_shown():
    texts = {"src/a.py": "a = 1\n" * 3000}
    (one,) = chosen(a_task(outputs=("src/a.py",)), tokens=500, texts=texts)
    assert one.is_cut
    assert 1500 < len(one.text) <= 2000
    assert set(one.text.split("\n")) == {"a = 1"}


def test_what_may_not_be_read_is_not_among_them():
    task = a_task(outputs=("src/booking/store.py",), inputs=(".env", "docs/rules.md"))
    texts = {**TEXTS, ".env": "KEY=1\n", "src/booking/id_rsa": "x\n"}
    paths = [one.path for one in chosen(task, texts=texts, allow=(("src/booking/**",),))]
    assert paths == ["src/booking/store.py", "src/booking/models.py", "src/booking/clock.py"]


def test_files_that_the_brief_shows_anyway_are_not_shown_twice():
    task = a_task(outputs=("src/booking/store.py",))
    files = chosen(task, shown=frozenset({"tests/test_store.py"}))
    assert "tests/test_store.py" not in [one.path for one in files]


def test_the_type_of_a_task_says_which_of_equally_near_files_come_first():
    task = a_task(title="Rename the store", outputs=("src/booking/store.py",))
    kind = classify(task)
    near = [path for path, why in named(chosen(task, kind=kind)) if why == "neighbour"]
    assert near == ["tests/test_store.py", "src/booking/models.py"]


def test_a_task_that_may_write_anything_is_shown_what_it_names_alone():
    task = a_task(outputs=("any",), inputs=("web/app.ts",))
    assert named(chosen(task)) == [("web/app.ts", "task")]


def test_the_plan_patterns_and_skills_are_no_files_of_a_kind():
    texts = dict.fromkeys(("TASK-GRAPH.md", "patterns/PATTERN-001.md", "docs/a.md"), "x\n")
    texts["skills/web/SKILL.md"] = "x\n"
    assert named(chosen(a_task(outputs=("NEW.md",)), texts=texts)) == [("docs/a.md", "kind")]


def test_every_candidate_comes_once():
    tree = a_tree(TEXTS)
    task = a_task(outputs=("src/booking/*.py",), inputs=("src/booking/store.py",))
    with outlines_of(tree, None) as outlines:
        asked = FileQuery(task, WorkType())
        paths = [path for path, _ in candidates(tree, Neighbours(tree, outlines), asked)]
    assert len(paths) == len(set(paths))
