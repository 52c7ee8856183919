"""A block of examples in a plan is run on the proposed code, each example by itself."""

import pytest
from gates_bench import a_story, a_task, checks_of_family, own_check

from runner.gates import examples
from runner.model import Severity, Verdict

CODE = "def slug(text):\n    return text.lower().replace(' ', '-')\n"


def proved(folder, block, code=CODE):
    task = a_task(prose=f"Make slugs.\n\n```python examples\n{block}```\n")
    context, _ = a_story(folder, {"shop.py": ""}, {"shop.py": code}, task=task)
    check = own_check("examples", context)
    return examples.prove(check, context)


def test_examples_that_hold_are_counted_and_those_without_an_answer_named(tmp_path):
    block = """>>> from shop import slug
>>> slug('A b')
'a-b'
>>> slug('C')
>>> slug(1)
Traceback (most recent call last):
AttributeError: 'int' object has no attribute 'lower'
"""
    found = proved(tmp_path, block)
    assert found.proof.verdict is Verdict.PASS
    assert found.proof.note == "2 examples checked, 1 not checked"
    (one,) = found.findings
    assert (one.severity, one.message) == (
        Severity.NOTE,
        "the plan's example `slug('C')` is not checked: it has no expected result",
    )


@pytest.mark.parametrize(
    ("code", "got"),
    [
        (CODE.replace("'-'", "'_'"), "'a_b'"),
        ("def slug(text):\n    raise KeyError(1)\n", "KeyError: 1"),
    ],
)
def test_another_answer_refuses_and_is_shown(tmp_path, code, got):
    found = proved(tmp_path, ">>> from shop import slug\n>>> slug('A b')\n'a-b'\n", code)
    assert found.proof.verdict is Verdict.FAIL
    one = next(each for each in found.findings if each.refuses)
    assert one.message == "the plan's example `slug('A b')` gives a different result"
    assert one.detail == got


@pytest.mark.parametrize("block", ["slug('A b') == 'a-b'\n", ">>> from shop import\n  >>> x\n"])
def test_a_block_without_a_readable_example_refuses(tmp_path, block):
    found = proved(tmp_path, block)
    assert any(one.refuses for one in found.findings)


@pytest.mark.parametrize("prose", ["```python\n>>> 1\n2\n```\n", "`slug('A b') == 'a-b'`\n"])
def test_other_blocks_and_prose_are_not_executed(prose):
    assert checks_of_family("examples", a_task(prose=prose), None) == ()
