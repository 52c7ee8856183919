"""A public name that a command takes away is a question, a named one a note for the reviewer."""

import pytest
from workplace import a_task

BEFORE = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    "shop/price.py": '__all__ = ["show", "total"]\nshow = print\ntotal = sum\n',
}
COMMAND = "sed -i 's/\"show\", //' shop/price.py"


@pytest.mark.parametrize("text", ["Sum it up.", "Take `show` out of the surface."])
def test_a_name_that_leaves_all_waits_unless_the_plan_names_it(workplace, text):
    workplace.commit(BEFORE)
    workplace.plan(
        a_task(
            "TASK-001",
            prose=text,
            outputs=["shop/price.py"],
            command=COMMAND,
            tests=["python3 -c 'from shop.price import *; assert total([1]) == 1'"],
        )
    )
    ended = workplace.run()
    fact = "removes public names: show (no longer in __all__)"
    shown = workplace.runner("show", "TASK-001").out
    assert fact in shown, shown + ended.said
    assert ended.code == 3, ended.said  # no test fails without the change, either
    listed = workplace.runner("review").out
    assert (f"? {fact}" in listed) == ("show" not in text)
    assert (f"shop/price.py: {fact}" in listed) == ("show" in text)
    assert (f"what-changed: shop/price.py: {fact}" in ended.err) == ("show" not in text)
