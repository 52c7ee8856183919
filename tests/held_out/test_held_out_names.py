"""A change that names a held-out file is refused, by its path or by a name no other file has."""

import pytest

from runner.held_out.names import find_names
from runner.model import Action, Change

HELD = "tests/test_acceptance.py"


@pytest.mark.parametrize(
    ("after", "files", "is_named"),
    [
        (f"SKIP = '{HELD}'", (), True),
        ("SKIP = 'test_acceptance.py'", (), True),
        ("SKIP = 'test_acceptance.py'", ("more/test_acceptance.py",), False),
        (f"SKIP = '{HELD}'", ("more/test_acceptance.py",), True),
        ("SKIP = 'my_test_acceptance.py'", (), False),
        (f"# old: {HELD}", (), False),
    ],
)
def test_an_added_line_names_no_held_out_file(after, files, is_named):
    before = f"# old: {HELD}\n".encode()
    change = Change("shop.py", Action.MODIFY, 0o100644, None, None, after.encode())
    found = [one.path for one in find_names([change], lambda _: before, (HELD,), files)]
    assert found == ["shop.py"] * is_named
