"""What work may cost: a repository can ask for less than the person allows, never for more."""

import pytest

from runner.config.loading import load_settings


@pytest.fixture
def loaded(tmp_path):
    def load(mine, theirs):
        home, root = tmp_path / "home", tmp_path / "shop"
        file = home / ".config/runner/runner.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(exist_ok=True)
        file.write_text(mine)
        (root / "runner.toml").write_text(theirs)
        return load_settings(root, {"HOME": str(home)}, {})

    return load


@pytest.mark.parametrize(
    "name", ["budget.run_dollars", "budget.dollars", "budget.attempt_tokens", "budget.tool_calls"]
)
def test_a_repository_cannot_raise_what_the_person_allows(loaded, name):
    found = loaded(f"{name} = 5\n", f"{name} = 1000000\n")
    assert found.value_of(name) == 5
    note = f"runner.toml:1: {name} = 1000000 is ignored: your own settings allow 5"
    assert [said.replace(".0", "") for said in found.notes] == [note]


def test_it_may_lower_it_and_set_what_the_person_leaves_open(loaded):
    found = loaded(
        "budget.run_dollars = 5.0\n",
        "budget.run_dollars = 2.0\nbudget.tokens = 900\nbudget.minutes = 90\n",
    )
    assert (found.settings.budget.run_dollars, found.settings.budget.tokens) == (2.0, 900)
    assert found.settings.budget.minutes == 90
    assert found.notes == ()
