"""What reads good fields without pydantic gives what the schema gives, over every plan there is."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from test_plan_scanner import section

from runner.plan import schema
from runner.plan.document import read_plan

HERE = Path(__file__).parent


@pytest.fixture
def both(monkeypatch):
    """Validates twice and compares; counts what was compared: sections, and those with mistakes."""
    seen = [0, 0]
    validate = schema.validate

    def twice(fields, around):
        found, by_schema = validate(fields, around), schema.validate_by_schema(fields, around)
        assert found.values == by_schema.values
        assert {key: type(one) for key, one in found.values.items()} == {
            key: type(one) for key, one in by_schema.values.items()
        }
        assert found.complaints == by_schema.complaints
        seen[0] += 1
        seen[1] += bool(found.complaints)
        return found

    monkeypatch.setattr(schema, "validate", twice)
    return seen


@pytest.mark.parametrize("odd", [0.0, 0.1, 0.5])
def test_generated_sections_are_read_as_the_schema_reads_them(both, odd):
    chance = random.Random(f"schema {odd}")
    for _ in range(40):
        text = "".join(section(chance, number, odd) for number in range(1, 8))
        read_plan(text.encode("utf-8", "surrogatepass"), "TASK-GRAPH.md")
    assert both[0] > 100


def test_every_plan_of_the_repository_is_read_as_the_schema_reads_it(both):
    root = HERE.parents[1]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md"], cwd=root, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            read_plan((root / name).read_bytes(), name)
    assert both[0] > 50


def test_a_plan_without_mistakes_is_read_without_pydantic(tmp_path):
    plan = "## TASK-001: one\n\n- Test contracts:\n  - TC-001 (unit): `true`\n- Depends on: none\n"
    (tmp_path / "TASK-GRAPH.md").write_text(plan)
    (tmp_path / "odd.md").write_text(plan.replace("none", "some day"))
    code = (
        "import sys; from pathlib import Path; from runner.plan.document import read_plan;"
        "plans = [read_plan(Path(name).read_bytes(), name) for name in sys.argv[1:]];"
        "print([len(one.problems) for one in plans], 'pydantic' in sys.modules)"
    )
    for names, said in ((["TASK-GRAPH.md"], "[0] False"), (["odd.md"], "[1] True")):
        argv = [sys.executable, "-c", code, *names]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said
