"""The action and all workflows, ours and those of the guides, by two checkers of such files."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LINT = TOP / "tests/forge/lint"
VALIDATOR = LINT / "node_modules/.bin/action-validator"
GUIDES = ("gate.md",)

pytestmark = pytest.mark.skipif(
    not VALIDATOR.exists() or shutil.which("node") is None,
    reason=f"the checkers are not installed: npm ci --prefix {LINT.relative_to(TOP)}",
)


@pytest.fixture
def workflows(tmp_path):
    """Files of ours, and the workflows of the guides as files."""
    found = sorted((TOP / ".github/workflows").glob("*.yml"))
    for guide in GUIDES:
        text = (TOP / "docs/guides" / guide).read_text()
        recipes = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for number, recipe in enumerate(recipes):
            if re.search(r"^jobs:", recipe, re.MULTILINE):
                file = tmp_path / f"{guide}-{number}.yml"
                file.write_text(recipe)
                found.append(file)
    assert len(found) > 3
    return found


def lint(*files):
    told = ["node", str(LINT / "lint.cjs"), *map(str, files)]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def validate(file):
    """What its published schema says; empty where it fits."""
    done = subprocess.run([VALIDATOR, file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_actionlint_finds_nothing(workflows):
    assert lint(*workflows) == []


def test_action_and_workflows_fit_the_published_schemas(workflows):
    for file in (TOP / "action.yml", *workflows):
        assert validate(file) == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs-on:", "runs_on:", "runs_on"),
        ("pull_request:", "pull_requests:", "pull_requests"),
        ("contents: read", "contents: reed", "reed"),
    ],
)
def test_the_checkers_find_mistakes(workflows, tmp_path, old, new, said):
    (text,) = (one.read_text() for one in workflows if one.name == "gate.md-0.yml")
    assert old in text
    broken = tmp_path / "broken.yml"
    broken.write_text(text.replace(old, new))
    assert any(said in one["message"] for one in lint(broken))


def test_an_action_with_a_wrong_key_does_not_fit_its_schema(tmp_path):
    broken = tmp_path / "action.yml"
    broken.write_text(
        (TOP / "action.yml").read_text().replace("using: composite", "using: compost")
    )
    assert validate(broken)
