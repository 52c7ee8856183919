"""What `validate` says of contracts, before anything runs."""

import os
import subprocess
import sys

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
