"""What a change does besides its task is asked of a person, or noted for whoever reviews it."""

import pytest
from gates_bench import a_story, a_task, checks_of_family, own_check

from runner.gates import what_changed
from runner.model import Severity
from runner.model.words import WHAT_CHANGED

BEFORE = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/__init__.py": "",
    "shop/price.py": "LIMIT = 3\n\ndef show(day, style='iso'):\n    return style\n",
}
AFTER = BEFORE | {"shop/price.py": BEFORE["shop/price.py"].replace("iso", "us")}


def found(folder, after, **fields):
    task = a_task(outputs=("shop/**",), **fields.pop("task", {}))
    context, _ = a_story(folder, BEFORE, after, task=task, **fields)
    check = own_check("what_changed", context)
    return what_changed.prove(check, context).findings


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({}, Severity.QUESTION),
        ({"by_person": True}, Severity.NOTE),
        ({"task": {"prose": "`show` gets another style."}}, Severity.NOTE),
    ],
    ids=["of an implementer", "of a person", "named by the plan"],
)
def test_a_changed_default_is_a_question_unless_it_is_known(tmp_path, fields, severity):
    (finding,) = found(tmp_path, AFTER, **fields)
    assert (finding.check, finding.path, finding.line) == (WHAT_CHANGED, "shop/price.py", 3)
    assert finding.message == "changes public signatures: show (style defaults to 'us', was 'iso')"
    assert finding.severity is severity
    assert bool(finding.hint) == (severity is Severity.QUESTION)


def test_what_breaks_nobody_is_a_note(tmp_path):
    (finding,) = found(tmp_path, BEFORE | {"shop/cart.png": "PNG\0"})
    assert (finding.message, finding.severity) == ("adds binary files: cart.png", Severity.NOTE)


def test_a_task_that_writes_nothing_is_not_looked_at(tmp_path):
    assert checks_of_family("what_changed", a_task(outputs=()), None) == ()


def test_the_users_of_a_name_are_looked_for_in_the_tree(tmp_path):
    before = {"app.py": "def run(port=80):\n    pass\n", "main.py": "import app\napp.run()\n"}
    after = before | {"app.py": "def run(port=81):\n    pass\n"}
    context, _ = a_story(tmp_path, before, after, task=a_task(outputs=("any",)))
    assert [one.asks for one in what_changed.find_facts(context)] == [True]
    (context.place.tree / "main.py").write_text("import app\n")
    assert [one.asks for one in what_changed.find_facts(context)] == []
