"""`version`, `help`, old names of commands, and what no reading command may import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands_build import a_ground

import runner
from runner.model import Reason
from runner.operations.table import FOR_PROGRAMS, TABLE, TOP, find_operation
from runner.text.wording import install_hint, refusal_of_import

HEAVY = ("pydantic", "markdown_it", "networkx", "git", "rich", "asyncio", "bandit", "re2")


def test_the_version_is_one_line(ground):
    python = ".".join(map(str, sys.version_info[:3]))
    assert ground.runner("version") == (0, f"runner {runner.__version__} (Python {python})\n", "")
    assert ground.runner("--version").out == ground.runner("version").out
    assert ground.runner("version", "--json").json == {
        "schemaVersion": 1,
        "kind": "version",
        "version": runner.__version__,
        "python": python,
    }


def test_help_is_one_screen(ground):
    said = ground.runner("help")
    assert (said.code, said.err) == (0, "")
    assert len(said.out.splitlines()) <= 40
    assert all(len(line) <= 100 for line in said.out.splitlines())
    for name in TOP:
        assert (f"  {name} " in said.out) == TABLE[name].shown
    assert "  130  interrupted; run again to continue\n" in said.out
    assert ground.runner("--help").out == said.out


def test_help_all_has_every_command_and_every_option_of_run(ground):
    said = ground.runner("help", "--all")
    for entry in TABLE.values():
        if entry.does and entry.name != "version":
            assert f"  {entry.name} " in said.out
            assert entry.summary in said.out
    assert len(TOP) == len(set(TOP)) == 40
    commands = {entry.name.split()[0] for entry in TABLE.values() if entry.does}
    assert commands == {*TOP, *FOR_PROGRAMS, "version"}
    assert "--dry-run" in said.out
    assert "--fail-fast" in said.out


@pytest.mark.parametrize(
    "name",
    [
        *("status", "show", "why", "validate", "graph", "log", "plan decide", "team lease"),
        *("settings", "doctor", "init", "version", "help", "help completion"),
    ],
)
def test_each_command_explains_itself_with_an_example(ground, capsys, name):
    with pytest.raises(SystemExit) as left:
        ground.runner(*name.split(), "--help")
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"usage: runner {name}" in said
    assert "\nexamples:\n" in said


@pytest.mark.parametrize(
    "words",
    [
        *(("pipeline", "secrets", one) for one in ("allow", "list")),
        *(("pipeline", "staged-write", x) for x in ("stage", "show", "list", "apply", "reject")),
        ("pipeline", "sast-log"),
        *(("pipeline", "write-log", one) for one in ("record", "show")),
    ],
)
def test_each_command_below_another_has_its_own_examples(ground, capsys, words):
    with pytest.raises(SystemExit):
        ground.runner(*words, "--help")
    examples = capsys.readouterr().out.partition("\nexamples:\n")[2].splitlines()
    assert examples
    assert all(f"runner {' '.join(words)}" in line for line in examples)


def test_help_of_a_command_is_its_own(ground, capsys):
    with pytest.raises(SystemExit):
        ground.runner("help", "status")
    asked = capsys.readouterr().out
    with pytest.raises(SystemExit):
        ground.runner("status", "--help")
    assert capsys.readouterr().out == asked
    assert 'did you mean "status"?' in ground.runner("help", "statuss").err


def test_a_command_that_is_none_is_refused_with_the_one_that_was_meant(ground):
    assert ground.runner("statuss") == (
        2,
        "",
        'runner: unknown command "statuss"\nhint: did you mean "status"?\n',
    )


def imported(*words):
    """The modules that a command has imported by its end."""
    code = (
        "import sys; from runner.cli import main; code = main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("name", ["version", "status", "list", "next"])
def test_what_answers_at_once_imports_nothing_heavy(ground, name):
    a_ground(ground)
    ground.runner("status")  # the plan has been seen
    assert imported(name).isdisjoint(HEAVY)


def test_the_version_imports_next_to_nothing_of_the_house(ground):
    ours = {module for module in imported("version") if module.startswith("runner")}
    assert ours <= {
        "runner",
        "runner.cli",
        "runner.errors",
        "runner.lazy_module",
        "runner.lazy_pattern",
        "runner.commands",
        "runner.commands.parser",
        "runner.commands.programs",
        "runner.extensions",  # the list of extensions, none of which is loaded
        "runner.extensions.interface",
        "runner.extensions.registry",
        "runner.operations",  # the one module of rows that has `version`
        *(f"runner.operations.{name}" for name in ("row", "table", "programs")),
        "runner.text",
        *(f"runner.text.{name}" for name in ("display", "foreign_documents", "wording")),
    }


def test_git_is_asked_once_about_commits_a_person_added(ground):
    from commands_build import began, done, ended, published

    a_ground(ground, "A")
    head = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", head))
    ground.journal(published(ground, A="DONE"), ended(ground))
    ground.write("more.txt", "mine")
    ground.commit()
    assert "git" in imported("status")
    assert "git" not in imported("status")


def test_help_says_what_a_reason_or_an_exit_code_means_and_what_to_do(ground):
    said = ground.runner("help", "blocked", "proof")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[0] == "proof"
    assert "Next: Add a test contract" in said.out
    every = ground.runner("help", "blocked").out
    assert [one for one in every.splitlines() if one[:1].strip()] == list(Reason)
    assert ground.runner("help", "exit", "3").out.startswith("exit 3\n  needs your input")


def test_a_code_that_there_is_not_is_told_with_those_that_there_are(ground):
    said = ground.runner("help", "blocked", "tired")
    assert said.code == 2
    assert 'unknown code "tired"' in said.err
    assert "checks, stuck, secret" in said.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("list", "status --list"),
        ("list --status done --json", "status --list --status done --json"),
        ("next", "status --next"),
        ("analyse --json", "doctor --repository --json"),
        ("brief TASK-001", "show TASK-001 --brief"),
        ("brief 1 --parts", "show 1 --brief --parts"),
        ("verify-attestation nothing.json", "evidence --check nothing.json"),
        ("ownership show a.txt", "plan ownership show a.txt"),
        ("pattern list", "plan pattern list"),
        ("decide", "plan decide"),
        ("completion zsh", "help completion zsh"),
        ("version --json", "--version --json"),
        ("events --json", "log --events --json"),
        ("events --doors", "team events --doors"),
        ("lease --json", "team lease --json"),
        ("artifacts list --json", "team artifacts list --json"),
        ("store check", "team store check"),
        ("repo list", "team repo list"),
        ("queue list", "team queue list"),
        ("people list", "team people list"),
        ("worker --nonsense", "team worker --nonsense"),
        ("bridge gitlab", "team bridge gitlab"),
        ("secrets list --json", "pipeline secrets list --json"),
        ("secrets log", "pipeline secrets log"),
        ("sast show --json", "pipeline sast-log --json"),
        ("sast-scan a.txt --task TASK-001", "pipeline sast-scan a.txt --task TASK-001"),
        ("secret-scan a.txt", "pipeline secret-scan a.txt"),
        ("staged-write list --all", "pipeline staged-write list --all"),
        ("write-log show --task TASK-001", "pipeline write-log show --task TASK-001"),
        ("check-coverage --task TASK-001", "pipeline check-coverage --task TASK-001"),
        ("commit-by-task -n", "pipeline commit-by-task -n"),
        ("build", "run"),
        ("resume", "run"),
        ("test TASK-001 --trust --json", "verify TASK-001 --trust --json"),
    ],
)
def test_an_old_name_means_what_the_new_one_means(old, new):
    before, after = (find_operation(words.split(), {}) for words in (old, new))
    assert before.operation is after.operation
    assert sorted(before.rest) == sorted(after.rest)


_ROOT = Path(__file__).parents[2]
_FOUND = [Path("/usr/bin/python3"), *sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))]
_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.version_info < (3, 11, 5))"


def find_older():
    """Yield each Python here that is too old, with its version."""
    for python in filter(Path.exists, _FOUND):
        version, is_older = subprocess.check_output([python, "-c", _ASK], text=True).split()
        if is_older == "True":
            yield pytest.param(python, version, id=version)


@pytest.mark.parametrize(("python", "version"), list(find_older()))
def test_an_older_python_is_told_which_one_is_needed(python, version):
    ended = subprocess.run(
        [python, "-m", "runner", "status"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"runner: needs Python 3.11.5 or newer; this is {version}\n"


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
