"""Entries under Contracts are read as what they ask for; `validate` reports the others."""

import os
import subprocess
import sys

import pytest

from runner.contracts import entries
from runner.contracts.entries import ContractKind, OpenApi, Refused, Schema


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ("a.yaml app=b.api:app", OpenApi("a.yaml", app="b.api:app")),
        ("./c/a.yaml app=b:make()", OpenApi("c/a.yaml", app="b:make()")),
        (
            'a.yaml url=http://127.0.0.1:8001 start="python -m b --port 8001"',
            OpenApi("a.yaml", url="http://127.0.0.1:8001", start="python -m b --port 8001"),
        ),
    ],
)
def test_an_openapi_entry(value, entry):
    assert entries.openapi(value) == entry


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a.yaml", "an openapi contract needs either app= or url="),
        (
            "a.yaml app=b:c url=http://localhost:1 start=x",
            "an openapi contract needs either app= or url=",
        ),
        ("a.yaml app=b", "app=b is not a valid import path"),
        ("a.yaml app=b:c;rm", "app=b:c;rm is not a valid import path"),
        ("a.yaml url=http://127.0.0.1:1", "an openapi contract with url= needs start="),
        (
            "a.yaml url=http://example.org:80 start=x",
            "url=http://example.org:80 is not an http address of this machine",
        ),
        (
            "a.yaml url=http://127.0.0.1 start=x",
            "url=http://127.0.0.1 is not an http address of this machine",
        ),
        ("a.yaml port=1", "an openapi contract has no option 'port'"),
        ("", "an openapi contract needs a document"),
        ('a.yaml start="x', "'a.yaml start=\"x' has an unclosed quote"),
        ("../a.yaml app=b:c", "'../a.yaml' is not a path inside the repository"),
        (".git/config app=b:c", "'.git/config' is not a path inside the repository"),
        ("http://x/a.yaml app=b:c", "'http://x/a.yaml' is not a path inside the repository"),
    ],
)
def test_an_openapi_entry_that_cannot_be_read(value, message):
    with pytest.raises(Refused) as refused:
        entries.openapi(value)
    assert refused.value.message == message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ("a.json = b.models:Thing", Schema("a.json", ContractKind.TYPE, "b.models:Thing")),
        (
            "a.json=b.models:Outer.Inner",
            Schema("a.json", ContractKind.TYPE, "b.models:Outer.Inner"),
        ),
        ("a.json = data/*.json", Schema("a.json", ContractKind.INSTANCES, "data/*.json")),
        ("`a.json` = `one.json`", Schema("a.json", ContractKind.INSTANCES, "one.json")),
        ("a.json = src/b.ts:BSchema", Schema("a.json", ContractKind.ZOD, "src/b.ts", "BSchema")),
        ("a.json = src/b.mjs:B", Schema("a.json", ContractKind.ZOD, "src/b.mjs", "B")),
        ("a.json", Schema("a.json")),
    ],
)
def test_a_schema_entry(value, entry):
    assert entries.schema(value) == entry


PLAN = """\
# Shop

## TASK-001: The API

- Type: api
- Output files: `api/`
{contracts}"""
SETTINGS = "proof.strict_contracts = true\n"


def validate(folder, contracts, settings=""):
    folder.joinpath("TASK-GRAPH.md").write_text(PLAN.format(contracts=contracts))
    folder.joinpath("runner.toml").write_text(settings)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    command = [sys.executable, "-m", "runner", "validate"]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout


def test_an_api_without_a_contract_is_a_warning(tmp_path):
    code, said = validate(tmp_path, "")
    assert code == 0
    assert "5:3: warning: TASK-001 is of type api and has no contracts" in said


def test_with_strict_contracts_it_is_an_error(tmp_path):
    code, said = validate(tmp_path, "", SETTINGS)
    assert code == 2
    assert "5:3: error: TASK-001 is of type api and has no contracts" in said


def test_a_contract_that_could_not_be_checked_is_an_error_at_its_place(tmp_path):
    contracts = "- Contracts:\n  - openapi: `api/openapi.yaml`\n"
    code, said = validate(tmp_path, contracts)
    assert code == 2
    assert said.startswith("""\
TASK-GRAPH.md:8:15: error: TASK-001: an openapi contract needs either app= or url=
    - openapi: `api/openapi.yaml`
                ^^^^^^^^^^^^^^^^
hint: write it as openapi: `contracts/openapi.yaml` app=`package.module:app`, or with \
url=http://127.0.0.1:8001 start="command"
""")


def test_nothing_runs_while_a_contract_could_not_be_checked(tmp_path):
    contracts = "- Contracts:\n  - openapi: `api.yaml`\n"
    tmp_path.joinpath("TASK-GRAPH.md").write_text(PLAN.format(contracts=contracts))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    ran = subprocess.run(
        [sys.executable, "-m", "runner", "run", "--trust"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2, ran.stderr
    assert "the plan has 1 mistake; nothing has run" in ran.stderr
    assert "TASK-001: an openapi contract" in ran.stderr
