"""What a plan names and nobody makes is told; what somebody makes, and any doubt, is not."""

import os
import subprocess
from pathlib import Path

import pytest
from growth import grows_as_its_input
from workplace import PASSES, a_task

from runner.app.inspect.plan_warnings import find_unmade
from runner.app.inspect.validation import validate
from runner.plan.document import read_plan
from runner.project import Project

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
