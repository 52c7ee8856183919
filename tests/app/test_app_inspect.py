"""What a page or another program sees of a project, by the calls that the commands make."""

import json
import os
from pathlib import Path

import pytest
from workplace import PASSES, a_task

from runner.app.build.discovered_gates import find_project_gates
from runner.app.inspect import repository_analysis, statistics
from runner.app.inspect.diagnostic import State
from runner.app.inspect.diagnostics import examine
from runner.app.inspect.event_log import follow_log, read_log
from runner.app.inspect.repository_analysis import analyse, analysis_document, as_document
from runner.app.inspect.statistics import Tally, load_tally, tally_from_data, tally_to_data
from runner.app.inspect.task_inquiry import (
    explain,
    find_one_task,
    format_cause,
    load_story,
    next_brief,
)
from runner.app.inspect.task_view import portrait
from runner.app.inspect.validation import validate
from runner.app.inspect.view import View
from runner.app.write.hook_answer import HookCall, judge_call
from runner.app.write.static_checks import analyse_files, find_task_id, list_kept
from runner.app.write.workplace import Workplace
from runner.errors import ExitCode, RunnerError
from runner.journal import session_events
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    RunFinished,
    RunStarted,
    StageCompleted,
    TaskBlocked,
    TaskDone,
)
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.model import Ending, Finding, Proof, Reason, Spec, Status, Usage, Verdict, digest_of
from runner.project import Project

KEY = "HGFDSAPOIUYTREWQAIKA"[::-1]


@pytest.fixture
def shop(workplace):
    """Three tasks, one after the other."""
    workplace.plan(
        a_task("TASK-001", "One", blocks={"a.txt": "one"}, tests=[PASSES]),
        a_task("TASK-002", "Two", outputs=["b.txt"], command="true", needs=["TASK-001"]),
        a_task("TASK-003", "Three", outputs=["c.txt"], command="true", needs=["TASK-002"]),
    )
    return workplace


@pytest.fixture
def blocked(shop, opened, journaled):
    """TASK-001 failed once, and waits for a person."""
    finding = Finding("TC-001", "1 test failed", "a.txt", 3, hint="mend it")
    spec = find_one_task(opened(), "1").task.spec
    journaled(
        (AttemptStarted(base=shop.head, implementer="blocks", spec=spec), "TASK-001", 1),
        (AttemptFinished(Ending.FAILED, "", 2.0, findings=(finding,)), "TASK-001", 1),
        (TaskBlocked(Reason.CHECKS, "TC-001 failed 1 time", findings=(finding,)), "TASK-001", 1),
    )
    return shop


def test_a_view_says_how_every_task_stands_and_writes_nothing(shop, opened):
    opened().outline()  # what is cached lies outside the project
    before = shop.everything()
    view = View.of(opened())
    assert view.counts() == {Status.PENDING: 3}
    assert [task.id for task in view.ready()] == ["TASK-001"]
    assert view.waits_for(view.tasks[1]) == ("TASK-001",)
    assert shop.everything() == before


def test_a_view_follows_the_journal(blocked, opened):
    view = View.of(opened())
    assert view.counts() == {Status.PENDING: 2, Status.BLOCKED: 1}
    assert (view.note(view.tasks[0]), view.ready()) == ("TC-001 failed 1 time", ())


def test_the_chain_of_causes_ends_where_a_person_can_do_something(blocked, opened):
    cause = explain(find_one_task(opened(), "3"))
    assert (cause.task, [root.task for root in cause.roots]) == ("TASK-003", ["TASK-001"])
    assert "waits for TASK-002" in next(iter(format_cause(cause)))


def test_a_task_that_nobody_knows_is_no_task(shop, opened):
    with pytest.raises(RunnerError, match='unknown task "9"'):
        find_one_task(opened(), "9")


def test_a_task_s_story_has_its_attempts_and_findings(blocked, opened):
    asked = find_one_task(opened(), "TASK-001")
    story = load_story(asked)
    (attempt,) = story.past.attempts
    assert (attempt.number, attempt.ending, attempt.seconds) == (1, "failed", 2.0)
    assert "1 test failed" in "\n".join(portrait(asked.task, asked.view, story.past, story.report))


def test_the_next_brief_has_what_the_last_attempt_failed_by(blocked, opened):
    made = next_brief(find_one_task(opened(), "1"))
    assert (made.brief.attempt, str(made.mode)) == (2, "execute")
    assert "1 test failed" in made.brief.text
    assert {part.name for part in made.brief.parts} >= {"task"}


def test_what_happened_is_read_and_followed(blocked, opened, journaled):
    read = [record.type for record in read_log(opened(), "1")]
    assert read == ["attempt.started", "attempt.finished", "task.blocked"]
    assert list(read_log(opened(), "2")) == []
    following = follow_log(opened())
    assert [next(following).type for _ in read] == read
    journaled((TaskBlocked(Reason.CHECKS, "again"), "TASK-002", 0))
    assert next(following).task == "TASK-002"


def test_what_is_followed_begins_with_the_newest_and_ends_after_so_many(blocked, opened, journaled):
    newest, first = follow_log(opened(), last=1), follow_log(opened(), first=2)
    assert next(newest).type == "task.blocked"
    assert [record.type for record in first] == ["attempt.started", "attempt.finished"]
    nothing_yet = follow_log(opened(), last=0)
    journaled((TaskBlocked(Reason.CHECKS, "again"), "TASK-002", 0))
    assert [next(newest).task, next(nothing_yet).task] == ["TASK-002"] * 2


def test_every_mistake_of_a_plan_is_found_at_once(shop, opened):
    assert validate(opened()).code is ExitCode.OK
    shop.edit_plan("- Depends on: TASK-002", "- Depends on: TASK-007")
    shop.edit_plan("- Command: `true`", "- Command: `true`\n- Implementer: nobody")
    found = validate(opened())
    assert (found.code, found.errors, found.tasks) == (ExitCode.USAGE, 2, 3)
    text = " ".join(problem.message for problem in found.problems)
    assert "TASK-007" in text
    assert 'unknown implementer "nobody"' in text


def test_doctor_looks_at_machine_repository_and_plan(shop, alone):
    environ = {"HOME": str(alone), "PATH": "/usr/bin:/bin"}
    found = {one.name: one for one in examine(shop.root, environ, None)}
    assert {"python", "git", "repository", "branch", "journal", "trust"} <= set(found)
    assert (found["branch"].text, found["journal"].text) == ("main", "none yet")
    assert found["trust"].state is State.NOTE
    nowhere = {one.name: one for one in examine(Path("/"), environ, None)}
    assert nowhere["repository"].state is State.MISSING


# --- single files ---------------------------------------------------------------------


@pytest.fixture
def here(shop, alone):
    return Workplace.of(shop.root, {"HOME": str(alone), "PATH": "/usr/bin:/bin"})


def test_analysis_is_kept_in_the_history_of_its_task(shop, here):
    shop.write({"app.py": "import subprocess\nsubprocess.run('ls', shell=True)\n", "a.bin": b"\0"})
    files = [str(shop.root / name) for name in ("app.py", "a.bin", "none.py")]
    came = analyse_files(here, files, "TASK-001", None)
    assert [one.path for one in came.unreadable] == [files[2]]
    assert (came.lost, came.none_seen) == (None, False)
    assert {one.path for one in came.report.findings} == {"app.py"}
    assert came.report.notes
    kept = list_kept(here, "1")
    assert {one.finding.path for one in kept if one.finding.severity != "note"} == {"app.py"}
    assert {(one.task, one.attempt) for one in kept} == {("TASK-001", 0)}
    assert list_kept(here, "2") == ()


def test_a_task_that_the_plan_does_not_know_is_scanned_for_all_the_same(here):
    assert find_task_id(here, "1") == ("TASK-001", None)
    id_, unknown = find_task_id(here, "TASK-012")
    assert (id_, isinstance(unknown, RunnerError)) == ("TASK-012", True)


def call(shop, tool, **arguments):
    said = {"cwd": str(shop.root), "tool_name": tool, "tool_input": arguments}
    return HookCall(json.dumps(said).encode(), shop.root)


def test_a_hook_lets_a_write_pass_or_says_why_not(shop, here):
    environ = {**here.environ, "RUNNER_TASK": "TASK-002"}
    path = str(shop.root / "b.txt")
    assert judge_call(call(shop, "Write", file_path=path, content="two\n"), environ).is_allowed
    outside = judge_call(call(shop, "Write", file_path="a.txt", content="x\n"), environ)
    assert [one.path for one in outside.findings] == ["a.txt"]
    secret = judge_call(call(shop, "Write", file_path=path, content=f"key = '{KEY}'\n"), environ)
    assert not secret.is_allowed
    assert KEY not in str(secret.findings)
    assert not shop.has("b.txt")


def test_a_hook_refuses_what_is_no_call(shop, here):
    with pytest.raises(RunnerError, match="is not a tool call"):
        judge_call(HookCall(b"hello", shop.root), here.environ)


def test_a_call_that_only_reads_is_nobody_s_business(shop, here):
    assert judge_call(call(shop, "Read", file_path="a.txt"), here.environ).is_allowed


KEY = "HGFDSAPOIUYTREWQAIKA"[::-1]
SHOP = {
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["pydantic>=2"]\n'
    '[build-system]\nbuild-backend = "hatchling.build"\n[tool.pytest.ini_options]\n[tool.ruff]\n',
    "src/shop/__init__.py": "",
    "src/shop/models.py": "class Booking: ...\n",
    "src/shop/api.py": "from shop.models import Booking\n\ndef book(): ...\n",
    "tests/test_api.py": "from shop.api import book\n\ndef test_it(): assert book() is None\n",
    "web/package.json": '{"name": "web", "devDependencies": {"vitest": "1"}}',
    "web/a.ts": 'import { b } from "./b";\n',
    "web/b.ts": "export const b = 1;\n",
    "FILE_OWNERSHIP_MAP.md": "| File | Tasks |\n|---|---|\n| `src/shop/api.py` | TASK-003 |\n",
}


def project(workplace):
    return Project.open(workplace.root, os.environ, plan_needed=False)


def test_stack_builds_tests_gates_packages_owners_imports_and_hot_files_are_told(workplace):
    workplace.commit(SHOP)
    workplace.commit({"src/shop/api.py": SHOP["src/shop/api.py"] + "# more\n"})
    found = analyse(project(workplace))
    assert (found.commit, found.stack[0], found.package_manager) == (
        workplace.head,
        "python",
        "pip",
    )
    assert found.dependencies == ("pydantic",)
    assert [(one.manifest, one.tool) for one in found.build_systems] == [
        ("pyproject.toml", "hatchling.build")
    ]
    assert [(one.name, one.command, one.files) for one in found.test_frameworks] == [
        ("pytest", "python -m pytest -q", 1)
    ]
    assert [one.command for one in found.gates] == ["ruff check .", "python -m pytest -q"]
    assert {(one.path, one.name) for one in found.packages} == {
        (".", "shop"), ("src/shop", "shop"), ("web", "web"),
    }  # fmt: skip
    assert [(one.file, one.tasks) for one in found.owners] == [("src/shop/api.py", ("TASK-003",))]
    by_path = {one.path: one for one in found.sources}
    assert "src/shop/models.py" in by_path["src/shop/api.py"].imports
    assert "src/shop/api.py" in by_path["tests/test_api.py"].imports
    assert by_path["web/a.ts"].imports == ("web/b.ts",)
    assert by_path["src/shop/models.py"].names == ("Booking",)
    assert [(one.path, one.commits) for one in found.hot_files] == [("src/shop/api.py", 2)]


@pytest.mark.parametrize(
    ("files", "name", "command"),
    [
        ({"test_a.py": "import unittest\n"}, "unittest", "python -m unittest discover -q"),
        ({"test_a.py": "import pytest\n"}, "pytest", "python -m pytest -q"),
        (
            {"t/test_a.py": "from unittest import TestCase\n"},
            "unittest", "python -m unittest discover -q -s ./t",
        ),
        ({"test_a.py": "from unittest import mock\n"}, "pytest", "python -m pytest -q"),
        (
            {"manage.py": "", "test_a.py": "from django.test import TestCase\n"},
            "django", "python manage.py test",
        ),
        (
            {"t/settings.py": "", "t/test_a.py": "from django.test import TestCase\n"},
            "django", "python -m django test --settings=t.settings",
        ),
        ({"go.mod": "module a\n", "a_test.go": "package a\n"}, "go test", "go test ./..."),
        (
            {"go.work": "go 1.19\nuse (\n\t./a\n\t./b/c\n)\n", "a/a_test.go": "package a\n"},
            "go test", "go test ./a/... ./b/c/...",
        ),
        ({"Cargo.toml": '[package]\nname = "a"\n'}, "cargo test", "cargo test"),
        (
            {"Cargo.toml": '[workspace]\n[package]\nname = "a"\n'},
            "cargo test", "cargo test --workspace",
        ),
        (
            {"package.json": '{"scripts": {"test": "vitest run"}}', "a.test.ts": ""},
            "vitest", "npm test --silent",
        ),
        ({"a.test.mjs": 'import test from "node:test";\n'}, "node --test", "node --test"),
    ],
)  # fmt: skip
def test_the_test_framework_is_told_by_manifests_or_by_what_tests_import(
    workplace, files, name, command
):
    workplace.commit(files)
    found = analyse(project(workplace))
    assert [(one.name, one.command) for one in found.test_frameworks] == [(name, command)]
    assert found.test_command == command


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (
            {"pyproject.toml": "", "test_a.py": "import unittest\n"},
            "python -m unittest discover -q",
        ),
        ({"Cargo.toml": "[workspace]\n", "a/src/lib.rs": "#[test]\nfn a() {}\n"}, "cargo test"),
        ({"go.mod": "module a\n", "a_test.go": "package a\n"}, "go test ./..."),
    ],
)
def test_a_project_that_declares_no_tests_is_tested_by_what_they_are_written_with(
    workplace, files, command
):
    workplace.commit(files)
    assert command in [one.command for one in analyse(project(workplace)).gates]
    workplace.commit({"Makefile": "test:\n\techo all\n"})
    assert command not in [one.command for one in analyse(project(workplace)).gates]


def test_a_folder_of_another_language_is_tested_in_that_folder(workplace):
    scripts = '{"name": "web", "scripts": {"test": "node --test"}}'
    own = {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": ""}
    others = dict.fromkeys((f"{one}/package.json" for one in (".old", "my app", "vendor")), scripts)
    workplace.commit(own | others | {"web/package.json": scripts, "docs/requirements.txt": "a\n"})
    gates = [(one.name, one.command) for one in analyse(project(workplace)).gates]
    web = ("tests-web", "cd web && npm run --silent test")
    assert gates == [("tests", "python -m pytest -q"), web]
    assert [one.from_root(one.gate.command) for one in find_project_gates(project(workplace))] == [
        "python -m pytest -q",
        f"sh: {web[1]}",
    ]


def test_manifests_further_below_make_gates_up_to_a_depth(workplace):
    """No manifest is in the root; what a part tests itself, and samples, are no other parts."""
    scripts = '{"scripts": {"test": "node --test"}}'
    places = ("apps/web", "apps/web/lib", "services/api/ui", "a/b/c/d", "tests/fixtures/site")
    workplace.commit(
        {f"{one}/package.json": scripts for one in places}
        | {
            "services/api/pyproject.toml": "[tool.pytest.ini_options]\n",
            "go/x/go.mod": "module x\n",
        }
        | {"go/x/a_test.go": "package x\n"}
    )
    assert {one.name: one.command for one in analyse(project(workplace)).gates} == {
        "tests-apps-web": "cd apps/web && npm run --silent test",
        "tests-go-x": "cd go/x && go test ./...",
        "tests-services-api": "cd services/api && python -m pytest -q",
        "tests-services-api-ui": "cd services/api/ui && npm run --silent test",
    }
    assert len(find_project_gates(project(workplace))) == 4


@pytest.mark.parametrize(
    ("more", "inner"),
    [({}, ["cd inner && go test ./..."]), ({"go.work": "use (\n\t.\n\t./inner\n)\n"}, [])],
    ids=["a module of its own", "a workspace"],
)
def test_a_go_module_inside_another_is_tested_unless_a_workspace_does(workplace, more, inner):
    modules = {f"{one}go.mod": "module x\n" for one in ("", "inner/")}
    tests = {f"{one}x_test.go": "package x\n" for one in ("", "inner/")}
    workplace.commit(modules | tests | more)
    found = [one.command for one in analyse(project(workplace)).gates]
    assert [one for one in found if one.startswith("cd ")] == inner


@pytest.mark.parametrize(
    "files",
    [
        {"Makefile": "test:\n\t$(MAKE) -C web test\n"},
        {"package.json": '{"workspaces": ["web"], "scripts": {"test": "node --test web"}}'},
    ],
)
def test_a_folder_that_the_root_tests_is_not_tested_again(workplace, files):
    web = {"web/package.json": '{"scripts": {"test": "node --test"}}'}
    workplace.commit(files | web)
    assert [one.name for one in analyse(project(workplace)).gates] == ["tests"]


def test_tests_of_installed_packages_are_not_the_project_s(workplace):
    """Somebody may commit an environment by mistake."""
    site = ".venv/lib/python3.11/site-packages"
    own = {"setup.py": "", "tests/test_a.py": "import unittest\n"}
    workplace.commit(own | {f"{site}/test_{n}.py": "import pytest\n" for n in range(3)})
    (found,) = analyse(project(workplace)).test_frameworks
    assert (found.command, found.files) == ("python -m unittest discover -q -s ./tests", 1)


def test_packages_of_a_workspace_are_tested_once(workplace):
    scripts = '{"scripts": {"test": "node --test"}}'
    root = '{"private": true, "workspaces": ["a"]}'
    files = {"package.json": root, "a/package.json": scripts, "a/a.test.js": "'node:test'\n"}
    workplace.commit(files)
    commands = [one.command for one in analyse(project(workplace)).gates]
    assert commands == ["npm run --silent --workspaces --if-present test"]


def test_the_same_commit_gives_the_same_bytes_whatever_lies_in_the_folder(workplace):
    workplace.commit(SHOP)
    fresh = as_document(analyse(project(workplace)))
    first = analysis_document(project(workplace))
    workplace.write({"src/shop/api.py": "import os\n", "extra.py": "", "pyproject.toml": "x"})
    assert first == fresh == analysis_document(project(workplace))
    assert as_document(analyse(project(workplace))) == fresh
    kept = project(workplace).cache / "analysis.json"
    kept.write_bytes(kept.read_bytes().replace(b"hatchling", b"hatchlung"))
    assert analysis_document(project(workplace)) == fresh, "a damaged cache is read anew"
    workplace.commit(message="all of it")
    assert analysis_document(project(workplace)) != fresh


def test_what_comes_with_a_clone_is_read_within_bounds_and_redacted(workplace, monkeypatch):
    monkeypatch.setattr(repository_analysis, "_MOST_ROWS", 3)
    monkeypatch.setattr(repository_analysis, "_MOST_FILES", 4)
    many = {f"p{at}/package.json": json.dumps({"name": f"n{at}"}) for at in range(9)}
    workplace.commit(
        {
            **many,
            "package.json": "[" * 100_000,
            "pyproject.toml": f'[project]\nname = "{KEY}"\n[build-system\n',
            "Cargo.toml": f'[package]\nname = "AKIA{KEY}"\n',
            ".env": "SECRET=1\n",
            **{f"m{at}.py": f"import m{at + 1}\n" for at in range(9)},
        }
    )
    (workplace.root / "link.py").symlink_to("/etc/passwd")
    workplace.commit()
    found = analyse(project(workplace))
    assert len(found.packages) == 3
    assert [one.path for one in found.sources] == [f"m{at}.py" for at in range(4)]
    assert set(found.cut) == {"packages: 3 of 12", "sources: 4 of 9"}
    assert any("pyproject.toml is not TOML" in note for note in found.notes)
    assert KEY not in as_document(found)


def test_before_the_first_commit_there_is_nothing_to_tell(workplace):
    workplace.write({"a.py": "import os\n"})
    found = analyse(project(workplace))
    assert (found.commit, found.files, found.sources) == ("", 0, ())
    assert found.notes == ("no commit yet",)


DIGEST = digest_of(b"")
SPEC = Spec(DIGEST, DIGEST)


def proof(id_, kind, seconds, note=""):
    return Proof(id_, kind, "true", Verdict.PASS, 0, seconds, DIGEST, note=note)


def attempt(number, mode, *parts):
    yield AttemptStarted("0" * 40, "command", SPEC, mode=mode), "TASK-001", number
    for part in parts:
        yield part, "TASK-001", number
    used = Usage(10, 2, 0.5, 1)
    yield AttemptFinished(Ending.PASSED, "0" * 40, 9.0, usage=used), "TASK-001", number


STORY = [
    (RunStarted("0" * 40, "main", DIGEST, 1, {}), "", 0),
    *attempt(
        1,
        "build",
        StageCompleted("implementer", 5.0),
        StageCompleted("TC-001", 0.5),
        GateCompleted(proof("TC-001", "test", 1.0)),
        GateCompleted(proof("gate:tests", "gate", 2.0)),
        StageCompleted("gate:tests again, or on the base", 1.5),
        GateCompleted(proof("mutation", "mutation", 3.0)),
        GateCompleted(proof("regression:TASK-002/TC-001", "regression", 0.25)),
        StageCompleted("other", 0.125),
    ),
    *attempt(1, "prove", GateCompleted(proof("TC-001", "test", 4.0))),
    (TaskDone(SPEC), "TASK-001", 1),
    (TaskBlocked(Reason.CHECKS, "no"), "TASK-002", 1),
    (session_events.TreeVerified(DIGEST, "0" * 40, passed=True, seconds=6.0), "", 0),
    (RunFinished(0, "0" * 40, 20.0, {}), "", 0),
]


@pytest.fixture
def journal(tmp_path, monkeypatch):
    monkeypatch.setattr(statistics, "WORTH_SAVING", 1)
    return tmp_path / "journal.jsonl"


def append(path, *story):
    with Journal.open(path, run="one") as journal:
        for event, task, number in story:
            journal.append(event, task=task, attempt=number)


def test_a_tally_that_goes_on_is_the_tally_of_all(journal, tmp_path):
    for event in STORY:
        append(journal, event)
        kept, _ = load_tally(journal, tmp_path / "cache")
    whole = Tally()
    for record in read_journal(journal):
        whole.hear(record)
    assert tally_to_data(kept) == tally_to_data(whole)
    data = json.loads(json.dumps(tally_to_data(kept)))
    assert tally_to_data(tally_from_data(data)) == tally_to_data(kept)


def test_a_kept_tally_that_does_not_fit_is_counted_anew(journal, tmp_path):
    append(journal, *STORY)
    cache = tmp_path / "cache"
    first = tally_to_data(load_tally(journal, cache)[0])
    (file,) = cache.iterdir()
    for content in (b"", b"{}\n{}", file.read_bytes().replace(b"attempts", b"attempt_", 1)):
        file.write_bytes(content)
        assert tally_to_data(load_tally(journal, cache)[0]) == first


def test_each_second_of_a_run_has_one_kind(journal, tmp_path):
    append(journal, *STORY)
    spent = load_tally(journal, tmp_path / "cache")[0].spent
    task = dict(spent.runs["one"]["TASK-001"])
    assert task.pop("waiting") < 1
    assert task == {
        "implementer": 5.0,
        "proof": 4.5,
        "others": 0.25,
        "gates": 3.5,
        "repeats": 4.0,
        "rest": 0.125,
    }
    assert spent.runs["one"][""] == {"repeats": 6.0}
    assert spent.largest[:2] == ("the proof at the end", 6.0)
    assert spent.steps["mutants"] == 3.0
    assert spent.steps["gate:tests"] == 3.5
