"""What `make changed` runs for a work tree."""

import changed
import pytest

BOTH = ["tests/test_price.py", "tests/test_tax.py"]
FILES = {f"shop/{name}.py": "RATE = 3\n" for name in ("__init__", "price", "tax")}
FILES |= {f"tests/test_{name}.py": f"import shop.{name}\n" for name in ("price", "tax")}


@pytest.mark.parametrize(
    ("path", "chosen", "why"),
    [
        ("shop/tax.py", BOTH[1:], "tests/test_tax.py imports shop/tax.py"),
        ("tests/conftest.py", BOTH, "configures every test"),
        ("rates.csv", BOTH, "neither the plan nor any code names rates.csv"),
    ],
)
def test_a_change_chooses_what_it_may_reach_and_all_where_that_is_unknown(
    workplace, monkeypatch, capsys, path, chosen, why
):
    workplace.commit(FILES)
    monkeypatch.setattr(changed, "ROOT", workplace.root)
    monkeypatch.setattr(changed, "KNOWN", None)
    assert changed.main(["-q"]) == 0
    assert capsys.readouterr().out == "changed: no file differs from HEAD, so no test runs\n"
    workplace.write({path: "RATE = 4\n"})
    paths, found, _, reason = changed.choose(workplace.root)
    assert (paths, found) == ([path], chosen)
    assert why in reason
