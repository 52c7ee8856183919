"""What an agent program hears of a write before it makes it."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

SAMPLE = "r8q7p6o5n4m3l2K1j0I9H8G7f6E5D4C3b2A1_phg"[::-1]
PLAN = "# P\n\n## TASK-001: One\n\n- Status: PENDING\n- Output files: `src/a.py`\n"


@pytest.fixture
def asked(ground, monkeypatch):
    """Asks about calls of tools, under rules that may be changed."""
    path = ground.folder.parent / "hook.json"

    def rules(outputs=("src/app.py",), **fields):
        row = {"task": "TASK-001", "outputs": outputs, "project": str(ground.folder), **fields}
        path.write_text(json.dumps(row))

    def ask(tool, **arguments):
        call = {"tool_name": tool, "tool_input": arguments, "cwd": str(ground.folder)}
        return said(json.dumps(call))

    def said(text):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        return ground.runner("hook", *(("--rules", str(path)) if path.exists() else ()))

    def write(name, content):
        return ask("Write", file_path=str(ground.folder / name), content=content)

    rules()
    return SimpleNamespace(ask=ask, write=write, said=said, rules=rules, path=path)


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("src/app.py", "x = 1\n", ""),
        ("src/other.py", "x = 1\n", "'src/other.py' is not in the Output files of TASK-001"),
        ("src/app.py", "x = (\n", "src/app.py:1: '(' was never closed (compile)"),
        ("src/app.py", f"\nkey = '{SAMPLE}'\n", "src/app.py:2: secret found: GitHub token"),
        (".git/hooks/post-commit", "x", "the path '.git/hooks/post-commit'"),
        ("../elsewhere", "anything (", ""),
    ],
)
def test_a_write_is_judged_before_it_is_made(ground, asked, path, content, said):
    told = asked.write(path, content)
    assert told.code == (2 if said else 0)
    assert said in told.err
    assert bool(told.err) == bool(said)
    assert SAMPLE not in told.err
    assert not (ground.folder / path).exists()


def test_an_edit_is_judged_by_what_the_file_would_be(ground, asked):
    ground.write("src/app.py", "x = [1]\ny = [1]\n")
    path = str(ground.folder / "src/app.py")
    bad = asked.ask("Edit", file_path=path, old_string="[1]", new_string="[1")
    assert (bad.code, "was never closed" in bad.err) == (2, True)
    both = asked.ask("Edit", file_path=path, old_string="[1]", new_string="2", replace_all=True)
    assert both.code == 0
    edits = [{"old_string": "x =", "new_string": "x = ="}]
    assert asked.ask("MultiEdit", file_path=path, edits=edits).code == 2
    assert asked.ask("replace", file_path=path, old_string="x", new_string="z").code == 0


def test_an_approved_plan_narrows_it_and_a_session_that_reads_writes_nothing(ground, asked):
    asked.rules(("src/**",), plan=["src/a.py"])
    assert asked.write("src/a.py", "").code == 0
    assert asked.write("src/b.py", "").code == 2
    asked.rules(("src/**",), writes=False)
    told = asked.write("src/a.py", "")
    assert (told.code, "this session is read-only" in told.err) == (2, True)


DENY = {"tool": "write_file", "pattern": "src/core/**", "action": "deny"}
ASK = {"tool": "*_file", "pattern": "./docs//**", "action": "ask"}


def test_permission_rules_give_the_verdict_that_the_pipeline_will(ground, asked):
    ground.write("src/core/there.py", "x = 1\n")
    rules = {"permission": [ASK], "permission_floor": [DENY]}
    asked.rules(("any",), **rules)
    told = asked.write("src/core/new.py", "")
    assert told.code == 2
    assert told.err.startswith(
        'src/core/new.py: the rule "deny write_file src/core/**" of the repository\'s settings '
        "forbids writing this file (permission)\n"
    )
    assert asked.write("src/core/there.py", "").code == 0, "it is modified, not created"
    told = asked.write("docs/a.md", "")
    assert (told.code, "requires approval for this file" in told.err) == (2, True)
    kept = asked.path.with_name("hook-asked.jsonl")
    assert kept.read_text() == '["write_file", "docs/a.md"]\n', "the session hears of it"
    asked.rules(("any",), **rules, reviewed=True)
    assert asked.write("docs/a.md", "").code == 0
    answer = {"tool": "write_file", "subject": "docs/a.md", "allowed": True}
    asked.rules(("any",), **rules, answers=[answer])
    assert asked.write("docs/a.md", "").code == 0
    assert asked.write("docs/b.md", "").code == 2


def test_a_program_that_a_person_started_is_held_to_the_rules_of_the_settings(ground, asked):
    asked.path.unlink()
    ground.git("init", "-q")
    text = '[[permission]]\ntool = "write_file"\npattern = "src/core/**"\naction = "deny"\n'
    ground.write("runner.toml", text)
    assert asked.write("src/core/a.py", "").code == 2
    assert asked.write("src/a.py", "").code == 0


def test_what_writes_no_file_passes_and_what_cannot_be_judged_does_not(ground, asked):
    assert asked.ask("Bash", command="rm -rf x").code == 0
    assert asked.ask("Read", file_path=str(ground.folder / "other.py"), limit=5).code == 0
    notebook = str(ground.folder / "other.ipynb")
    assert asked.ask("NotebookEdit", notebook_path=notebook, new_source="x").code == 2
    assert asked.said("not json").code == 2
    (asked.path).write_text("[]")
    assert asked.write("src/app.py", "").code == 2


def test_a_program_that_a_person_started_is_held_to_the_task_of_its_environment(
    ground, asked, monkeypatch
):
    asked.path.unlink()
    ground.git("init", "-q")
    ground.write("TASK-GRAPH.md", PLAN)
    assert asked.write("src/b.py", "").code == 0
    monkeypatch.setenv("RUNNER_TASK", "TASK-001")
    assert asked.write("src/a.py", "").code == 0
    told = asked.write("src/b.py", "")
    assert (told.code, "not in the Output files of TASK-001" in told.err) == (2, True)
    assert not (ground.folder / "artifacts").exists()


def test_it_answers_fast_and_opens_nothing(ground, asked):
    def seconds(*words, stdin=""):
        began = os.times()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "runner", *words], input=stdin.encode(), check=False
        )
        ended = os.times()
        used = ended.children_user + ended.children_system
        return done.returncode, used - began.children_user - began.children_system

    arguments = {"file_path": str(ground.folder / "src/app.py"), "content": "x = 1\n"}
    call = json.dumps({"tool_input": arguments})
    code, hook = seconds("hook", "--rules", str(asked.path), stdin=call)
    assert code == 0
    assert hook < 6 * seconds("version")[1] + 0.05
    assert not (ground.folder / "artifacts").exists()


PATCH = """*** Begin Patch
*** Add File: src/new.py
+x = {new}
*** Update File: src/app.py
@@ def one():
 def one():
-    return 1
+    return {one}
*** Delete File: src/old.py
*** End Patch
"""


@pytest.mark.parametrize(
    ("new", "one", "outputs", "said"),
    [
        ("1", "2", ["src/**"], ""),
        ("(", "2", ["src/**"], "src/new.py:1: '(' was never closed"),
        ("1", "(", ["src/**"], "src/app.py:2: '(' was never closed"),
        ("1", "2", ["src/new.py", "src/app.py"], "'src/old.py' is not in the Output files"),
    ],
)
def test_each_file_of_a_patch_is_judged(ground, asked, new, one, outputs, said):
    asked.rules(outputs)
    ground.write("src/app.py", "def one():\n    return 1\n")
    ground.write("src/old.py", "")
    patch = PATCH.format(new=new, one=one)
    for call in ({"command": f"apply_patch <<'EOF'\n{patch}EOF"}, {"input": patch}):
        told = asked.ask("apply_patch", **call)
        assert told.code == (2 if said else 0), told.err
        assert said in told.err


def test_a_file_that_a_patch_moves_is_judged_where_it_goes(ground, asked):
    ground.write("src/app.py", "x = 1\n")
    lines = ["*** Begin Patch", "*** Update File: src/app.py", "*** Move to: lib/app.py"]
    told = asked.ask("apply_patch", input="\n".join([*lines, "-x = 1", "+x = 2", "*** End Patch"]))
    assert "'lib/app.py' is not in the Output files" in told.err


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ('{"file_path": "src/a\\u0000b", "content": "x"}', 2),
        ('{"file_path": "src/a\\ud800", "content": "x"}', 2),
        ('{"command": "*** Begin Patch\\n*** Add File: a\\u0000\\n+x\\n*** End Patch"}', 2),
        ('{"file_path": "src/app.py", "edits": [1, null, "x"]}', 0),
        ('{"file_path": "src/app.py", "content": "\\ud800"}', 0),
    ],
)
def test_a_call_that_nobody_would_make_is_judged_too(asked, call, code):
    told = asked.said(f'{{"tool_input": {call}}}')
    assert told.code == code, told.err


@pytest.mark.parametrize("rules", ["[" * 100_000, '{"task": "T", "outputs": 3}', "", "\0"])
def test_rules_that_somebody_spoilt_let_nothing_through(asked, rules):
    asked.path.write_text(rules)
    told = asked.write("src/app.py", "x = 1\n")
    assert told.code == 2
    assert "the hook's rules cannot be read" in told.err


def test_rules_that_are_a_link_are_not_read(asked):
    asked.path.unlink()
    asked.path.symlink_to("/dev/zero")
    assert asked.write("src/app.py", "x = 1\n").code == 2


COMMANDS = [
    {"tool": "bash", "pattern": "git push *", "action": "deny"},
    {"tool": "bash", "pattern": "curl *", "action": "ask"},
]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("Bash", {"command": "cd a && git push"}, 2),
        ("Bash", {"command": "git status"}, 0),
        ("run_shell_command", {"command": "git push"}, 2),
        ("exec_command", {"cmd": "git push"}, 2),
        ("shell", {"command": ["bash", "-lc", "git push"]}, 2),
        ("", {"command": "git push"}, 2),
        ("Read", {"file_path": "git push"}, 0),
    ],
)
def test_a_command_is_held_to_the_rules_before_it_runs(asked, tool, arguments, code):
    asked.rules(permission=COMMANDS)
    told = asked.ask(tool, **arguments)
    assert told.code == code, told.err
    assert ("deny bash git push *" in told.err) == bool(code)


@pytest.mark.parametrize(
    ("mine", "theirs", "code"),
    [
        (["deny git *", "allow git push *"], [], 0),
        (["allow git push *", "deny git *"], [], 2),
        (["deny git push *", "ask git *", "allow git push *"], [], 0),
        (["allow git push *"], ["deny git *"], 2),
        (["deny git *"], ["allow git push *"], 2),
        (["allow *"], ["deny git *", "allow git push *"], 0),
        (["ask git *"], ["allow *"], 2),
        (["deny git *", "allow *"], ["deny curl *", "allow *"], 0),
    ],
)
def test_the_last_rule_wins_in_a_source_and_the_strictest_across_them(asked, mine, theirs, code):
    def made(lines):
        words = (line.partition(" ") for line in lines)
        return [{"tool": "bash", "pattern": one, "action": action} for action, _, one in words]

    asked.rules(permission=made(mine), permission_floor=made(theirs))
    told = asked.ask("Bash", command="cd a && git push origin")
    assert told.code == code, told.err


def test_a_repositorys_rules_on_commands_only_tighten(asked):
    allow = [{"tool": "bash", "pattern": "*", "action": "allow"}]
    asked.rules(permission=COMMANDS, permission_floor=allow)
    assert asked.ask("Bash", command="git push").code == 2
    asked.rules(permission=allow, permission_floor=COMMANDS)
    assert asked.ask("Bash", command="git push").code == 2


def test_a_command_that_a_person_is_to_be_asked_about_is_kept_for_the_session(asked):
    asked.rules(permission=COMMANDS)
    told = asked.ask("Bash", command="curl example.org")
    assert told.code == 2
    assert "requires approval for this command" in told.err
    kept = [
        json.loads(line)
        for line in asked.path.with_name("hook-asked.jsonl").read_text().splitlines()
    ]
    assert kept == [["bash", "curl example.org"]]


def test_a_person_who_was_asked_decides(asked):
    answer = {"tool": "bash", "subject": "curl example.org", "allowed": True}
    asked.rules(permission=COMMANDS, answers=[answer])
    assert asked.ask("Bash", command="curl example.org").code == 0
    assert asked.ask("Bash", command="curl example.com").code == 2


def test_a_patch_in_an_allowed_command_is_still_a_write(asked):
    asked.rules(permission=COMMANDS)
    patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: b.py\n+x\n*** End Patch\nE\n"
    assert asked.ask("Bash", command=patch).code == 2
