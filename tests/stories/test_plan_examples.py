"""Code of an `examples` block is shown before it runs, and a check of it is a task like others."""

import pytest
from workplace import a_task

BLOCK = "```python examples\n>>> from shop import cost\n>>> cost(2)\n6\n```"


@pytest.fixture
def check(workplace):
    """A task that writes nothing, with a block of examples."""
    workplace.commit({"shop.py": "def cost(n):\n    return n * 3\n"})
    workplace.plan(a_task("TASK-001", tests=["true"], prose=BLOCK))
    return workplace


def test_the_code_of_examples_is_shown_before_a_clone_is_trusted(check):
    ended = check.run(trust=False)
    assert ended.code == 3
    assert "from shop import cost" in ended.err


@pytest.mark.parametrize(("factor", "code"), [(3, 0), (4, 1)])
def test_the_examples_of_a_check_run_where_its_command_starts_no_program(check, factor, code):
    check.commit({"shop.py": f"def cost(n):\n    return n * {factor}\n"})
    ended = check.run("--no-sandbox")
    assert ended.code == code, ended.said
    assert ("`cost(2)` gives a different result" in ended.said) is bool(code)
