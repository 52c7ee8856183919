"""What is not installed is said with what installs it, by every command that needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.text.wording import install_hint, refusal_of_import

_WITHOUT = """
import sys
from importlib.machinery import PathFinder

found = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {gone!r} else found(name, path, target)


PathFinder.find_spec = find_spec
from runner.cli import main

sys.exit(main(sys.argv[1:]))
"""


def _run(folder: Path, gone: set[str], *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-P", "-c", _WITHOUT.format(gone=gone), *words]
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "words",
    [
        "store init",
        "store check",
        "people list",
        "repo list",
        "queue list",
        "queue shop",
        "worker --trust --once",
        "events --team",
        "stats --team",
        "serve --team",
    ],
)
def test_a_team_that_is_not_installed_is_no_bug(tmp_path: Path, words: str) -> None:
    ended = _run(tmp_path, {"sqlalchemy", "alembic", "psycopg"}, *words.split())

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"runner: sqlalchemy is required, but not installed\nhint: {install_hint('team')}\n"
    )


def test_doctor_names_the_packages_that_a_contract_waits_for(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    plan = "## TASK-001: A\n\n- Output files: `a`\n- Contracts: schema: `a.json` = `m:T`\n"
    (tmp_path / "TASK-GRAPH.md").write_text(plan)

    lacking = _run(tmp_path, {"jsonschema"}, "doctor").stdout
    whole = _run(tmp_path, set(), "doctor").stdout

    assert "jsonschema is not installed; TASK-001 needs it" in lacking
    assert f"hint: contract schema: {install_hint('contracts')}\n" in lacking
    assert "contract schema" not in whole


def test_a_module_that_no_extra_brings_is_a_bug(tmp_path: Path) -> None:
    ended = _run(tmp_path, {"networkx"}, "demo")

    assert ended.returncode == 70
    assert "Traceback" in ended.stderr


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("sqlalchemy.orm", "team"),
        ("jinja2", "serve"),
        ("nats", "events"),
        ("opentelemetry.sdk", "telemetry"),
        ("pydantic_ai", "llm"),
        ("pygls", "lsp"),
        ("distributed", "dask"),
        ("hypothesis", ""),
        ("sql", ""),
        (None, ""),
    ],
)
def test_a_module_is_told_with_its_extra(module: str | None, extra: str) -> None:
    refusal = refusal_of_import(ModuleNotFoundError("gone", name=module))

    assert (refusal.hint if refusal else "") == (install_hint(extra) if extra else "")


def test_the_hint_installs_where_the_program_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "pip"
    foreign.write_text("#!/bin/sh\n")
    foreign.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_hint("team") == f"{sys.executable} -m pip install 'task-graph-runner[team]'"

    own = tmp_path / "bin"
    own.mkdir()
    (own / "pip").write_text("#!/bin/sh\n")
    (own / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", str(own))
    monkeypatch.setattr(sys, "executable", str(own / "python3"))
    assert install_hint("team") == "pip install 'task-graph-runner[team]'"
