"""What is said of a plan before a run, and what that costs."""

import os
import subprocess
from pathlib import Path

import pytest
from growth import grows_as_its_input
from workplace import PASSES, a_task

from runner.app.inspect.missing_references import find_unmade
from runner.app.inspect.unready_tasks import unready
from runner.app.inspect.validation import validate
from runner.config.settings import Settings
from runner.plan.document import read_plan
from runner.plan.graph import TaskGraph
from runner.project import Project, Reading


def reading_of(text):
    plan = read_plan(text.encode(), "TASK-GRAPH.md")
    return Reading(text.encode(), plan, TaskGraph.of(plan.tasks), ())


def plan_of(count):
    """A plan whose tasks nobody implements, each with a fence that looks like a file block."""
    tasks = (
        f"## TASK-{number:05}: Task\n\n- Output files: `f{number}.py`\n\n"
        f"```python f{number}.py\n```\n"
        for number in range(count)
    )
    return reading_of("# Shop\n\n" + "\n".join(tasks))


def test_each_task_is_told_of_its_own_fence():
    said = [(one.line, one.hint) for one in unready(plan_of(2), Settings())]
    assert [line for line, _ in said] == [3, 10]
    assert said[0][1].startswith(
        "line 7 looks like a file block: write ```python file=f0.py; else "
    )
    assert said[1][1].startswith(
        "line 14 looks like a file block: write ```python file=f1.py; else "
    )


def test_warnings_take_no_longer_for_each_task_of_a_larger_plan():
    def make(count):
        reading = plan_of(count)
        return lambda: list(unready(reading, Settings()))

    assert grows_as_its_input(make, 400)


def test_an_almost_fence_is_found_in_the_section_of_its_own_task_alone():
    files, fence = "- Output files: `src/a.py`\n\n", "```python title=src/a.py\nx = 1\n```\n"
    text = f"## TASK-001: A\n\n{files}## TASK-002: B\n\n{files}{fence}"
    first, second = (one.hint for one in unready(reading_of(text), Settings()))
    assert "looks like a file block" not in first
    assert second.startswith("line 9 looks like a file block: write ```python file=src/a.py; else")


def test_lines_are_counted_as_the_plan_counts_them():
    files, fence = "- Output files: `src/a.py`\n\n", "```python title=src/a.py\nx = 1\n```\n"
    (found,) = unready(reading_of(f"## TASK-001: A\u2028B\n\n{files}{fence}"), Settings())
    assert found.hint.startswith("line 5 looks like a file block")


AUTHOR = "- Test author: claude\n- Acceptance:\n  - A1: it halves\n"


def problems_of(workplace, *sections):
    workplace.write({"TASK-GRAPH.md": "# Shop\n\n" + "\n".join(sections)})
    workplace.commit()
    found = validate(Project.open(workplace.root, os.environ)).problems
    return [one.message for one in found if one.is_error]


def test_an_author_whose_tests_nothing_runs_is_refused(workplace):
    section = f"## TASK-001: Half\n\n- Output files: `app.py`\n- Implementer: claude\n{AUTHOR}"
    said = "TASK-001 has a Test author, but no known test command of the project runs"
    assert problems_of(workplace, section) == [f"{said} single files"]
    later = section.replace("- Output", "- Depends on: TASK-002\n- Output")
    other = "## TASK-002: Tools\n\n- Output files: `pyproject.toml`\n- Implementer: claude\n"
    assert problems_of(workplace, later, other) == []
    workplace.commit({"pyproject.toml": "[tool.pytest.ini_options]\n"})
    assert problems_of(workplace, section) == []


ROOT = Path(__file__).parents[2]


@pytest.fixture
def warned(workplace):
    """What is told of a plan of these tasks, in a repository with these files."""

    def tell(*tasks, files=None):
        workplace.commit({"src/shop/models.py": "", "tests/test_models.py": "", **(files or {})})
        workplace.plan(*tasks)
        found = validate(Project.open(workplace.root, os.environ))
        assert not found.errors
        return [
            one.message
            for one in found.problems
            if "nobody" in one.message or "no task" in one.message
        ]

    return tell  # fmt: skip


def reading(*inputs):
    return a_task(
        "TASK-001",
        "One",
        fields=[f"Inputs: {', '.join(f'`{one}`' for one in inputs)}"],
        outputs=["src/shop/new.py"],
        command="true",
        tests=[PASSES],
    )


def proven_by(command, *fields, outputs=("src/shop/new.py",), status="PENDING"):
    return a_task(
        "TASK-001",
        "One",
        status=status,
        fields=fields,
        outputs=list(outputs),
        command="true",
        tests=[command],
    )


def test_an_input_that_nobody_makes_is_told_where_it_stands(workplace, warned):
    assert warned(reading("src/shop/model.py", "docs/*.md")) == [
        'TASK-001 reads "src/shop/model.py": missing, and no task writes it',
        'TASK-001 reads "docs/*.md": missing, and no task writes it',
    ]
    found = validate(Project.open(workplace.root, os.environ)).problems
    (one,) = [one for one in found if "model.py" in one.message]
    assert one.source_line[one.column - 1 :].startswith("`src/shop/model.py")
    assert one.hint


@pytest.mark.parametrize(
    "path",
    ["src/shop/models.py", "./src/shop/models.py", "src/shop", "src/", "src/shop/*.py",
     "**/test_*.py", "src/shop/new.py", "src/shop/n*.py"],
)  # fmt: skip
def test_an_input_that_is_there_or_written_is_not_told(warned, path):
    assert warned(reading(path)) == []


def test_an_input_of_a_later_folder_or_glob_of_a_task_before_it_is_not_told(warned):
    first = a_task("TASK-002", outputs=["gen/**", "lib/a.py"], command="true", tests=[PASSES])
    late = reading("gen/deep/x.json", "lib", "lib/").replace("- Inputs", "- Needs: 2\n- Inputs")
    assert warned(late, first) == []
    free = a_task("TASK-003", "Any", outputs=["any"], command="true", tests=[PASSES])
    assert warned(reading("nobody/knows.txt"), free) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python -m pytest -q tests/test_model.py", 'file "tests/test_model.py"'),
        ("python -m pytest tests/test_model.py::test_a -k fast", 'file "tests/test_model.py"'),
        (".venv/bin/python -m pytest tests/a/test_b.py", 'file "tests/a/test_b.py"'),
        ("pytest ./tests/test_model.py tests/test_models.py", 'file "tests/test_model.py"'),
        ("cd tests && pytest test_model.py", 'file "test_model.py"'),
        ("PYTHONPATH=src python3 -m unittest tests.test_model", 'module "tests.test_model"'),
        ("python -m unittest -v tests.test_m.A.test_a", 'module "tests.test_m.A.test_a"'),
        ("python -m shop.cli --help", 'module "shop.cli"'),
        ("python scripts/check.py", 'file "scripts/check.py"'),
        ("node --test web/a.test.ts", 'file "web/a.test.ts"'),
        ("npx vitest run web/a.test.ts", 'file "web/a.test.ts"'),
    ],
)  # fmt: skip
def test_a_test_contract_of_what_nobody_has_or_writes_is_told(warned, command, said):
    assert warned(proven_by(command)) == [
        f"TC-001 of TASK-001 runs the {said}: missing, and no task writes it"
    ]


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest -q tests/test_models.py",
        "python -m pytest -q",
        "python -m pytest tests -k 'test_model.py or other'",
        "python -m pytest --ignore tests/old.py tests/test_models.py --junitxml=out/x.py",
        "cd tests && python -m pytest test_models.py",
        "(cd src && python -m pytest ../tests/test_models.py) && pytest tests/test_models.py",
        "python -m unittest tests.test_models tests.test_models.Case tests.test_models.Case.test_a",
        "python -m unittest discover -s tests -p 'x*.py'",
        "python -m http.server --help",
        "python -m mypy src/shop",
        "python -c 'import nobody.knows'",
        "python -m shop.models",
        "cp src/shop/models.py x.py && python x.py",
        "python $FILE.py",
        "make test tests/nobody.py",
        "bash scripts/nobody.sh",
        "grep -q nobody.py src/shop/models.py",
        "go test ./...",
        "node -e 1",
        "python 'unclosed.py",
    ],
)
def test_a_test_contract_that_may_find_what_it_runs_is_not_told(warned, command):
    assert warned(proven_by(command)) == []


def test_what_the_task_or_another_writes_is_no_lack(warned):
    mine = proven_by("pytest tests/test_new.py", outputs=("src/shop/new.py", "tests/test_new.py"))
    assert warned(mine) == []
    other = a_task("TASK-002", "T", outputs=["tests/**"], command="true", tests=[PASSES])
    assert warned(proven_by("pytest tests/deep/test_new.py"), other) == []
    assert warned(proven_by("pytest tests/gone.py", status="DONE")) == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("schema: `a.json` = `shop.model:Booking`", 'the module "shop.model"'),
        ("schema: `b.json` = `shop.models:Booking`", '"b.json"'),
        ("openapi: `a.json` app=`store.api:app`", 'the module "store.api"'),
    ],
)
def test_a_contract_whose_module_or_document_nobody_has_is_told(warned, entry, said):
    task = proven_by(PASSES, "Type: api", f"Contracts:\n  - {entry}", outputs=("a.json",))
    assert warned(task) == [
        f"a contract of TASK-001 names {said}: missing, and no task writes it"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    ["schema: `a.json` = `shop.models:Booking`", "schema: `a.json` = `pydantic.main:BaseModel`",
     "openapi: `a.json` app=`http.server:app`", "command: `nobody.py`"],
)  # fmt: skip
def test_a_contract_of_a_module_that_is_there_or_comes_from_elsewhere_is_not_told(warned, entry):
    task = proven_by(PASSES, "Type: api", f"Contracts:\n  - {entry}", outputs=("a.json",))
    declared = '[project]\nname = "shop"\ndependencies = ["pydantic"]\n'
    assert warned(task, files={"pyproject.toml": declared}) == []


PLANS = sorted(
    {*ROOT.glob("examples/*/TASK-GRAPH.md"), *ROOT.glob("tests/**/samples/*.md")}
    | {*ROOT.glob("runner/starter/*.md"), ROOT / "TASK-GRAPH.md"}
)


@pytest.mark.parametrize("plan", PLANS, ids=lambda one: one.relative_to(ROOT).as_posix())
def test_the_plans_that_come_with_the_project_raise_no_false_alarm(plan, tmp_path):
    root = ROOT if plan.parent == ROOT else tmp_path
    data = plan.read_bytes()
    tasks = read_plan(data, plan.name).tasks
    if root is tmp_path:  # as they begin: nothing is there but the plan, and what the demo brings
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        for name in ("test_parcels.py",) if plan.name == "DEMO.md" else ():
            (tmp_path / name).touch()
            subprocess.run(["git", "-C", tmp_path, "add", name], check=True)
    assert [one.message for one in find_unmade(root, data, plan.name, tasks)] == []


def test_the_time_of_looking_grows_as_the_plan_does():
    def make(size):
        tasks = "".join(
            f"## TASK-{number:03}: One\n\n- Status: PENDING\n"
            f"- Inputs: `src/a{number}`, `b{number}`\n"
            f"- Output files: `src/a{number}/x.py`\n\n"
            for number in range(1, size + 1)
        ).encode()
        plan = read_plan(tasks, "T")
        return lambda: find_unmade(ROOT, tasks, "T", plan.tasks)

    assert grows_as_its_input(make, 500)
