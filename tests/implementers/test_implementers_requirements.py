import pytest

from runner.implementers.requirements import NEEDS_ROOT, find_unmet_requirements, needs_root
from runner.model import (
    Block,
    BlockKind,
    Contract,
    GateSpec,
    Level,
    Reason,
    Requirement,
    Spec,
    Task,
    TestContract,
)


def a_task(**fields):
    return Task(id="TASK-001", title="x", line=1, spec=Spec("", ""), **fields)


def everything(name):
    return f"/usr/bin/{name}"


def nothing(_name):
    return None


@pytest.mark.parametrize(
    "line",
    [
        "sudo apt-get install x",
        "make && sudo make install",
        "A=1 sudo true",
        "env -i A=1 /usr/bin/sudo true",
        "if true; then sudo true; fi",
        "(cd x; sudo true)",
        "true\nsudo true",
        "# it's a comment\nsudo true",
        "sh -c 'sudo true'",
        'bash -ec "make; sudo make install"',
        "timeout 5 sudo true",
        "doas true",
        'echo "open\nsudo true',
    ],
)
def test_sudo_as_a_command_needs_root(line):
    assert needs_root(a_task(command=line))


@pytest.mark.parametrize(
    "line",
    ["echo sudo", "grep 'sudo make' README", "cat sudo.md; ls sudo", "# sudo true", "pseudo x", ""],
)
def test_sudo_as_a_word_does_not(line):
    assert not needs_root(a_task(command=line))


@pytest.mark.parametrize(
    "fields",
    [
        {"requires": (Requirement("root"),)},
        {"test_contracts": (TestContract("TC-1", Level.UNIT, "sudo x"),)},
        {"gates": (GateSpec("lint", "sudo x"),)},
        {"contracts": (Contract("command", "sudo x"),)},
        {"blocks": (Block(BlockKind.RUN, "", "cd x\nsudo y\n"),)},
    ],
)
def test_root_is_seen_wherever_a_command_stands(fields):
    assert needs_root(a_task(**fields))
    unmet = find_unmet_requirements(a_task(**fields), {}, everything)
    assert unmet == ((Reason.ROOT, NEEDS_ROOT),)


def test_a_file_that_speaks_of_sudo_needs_no_root():
    assert not needs_root(a_task(blocks=(Block(BlockKind.FILE, "x.sh", "sudo y\n"),)))


def test_what_is_missing_is_told_all_at_once():
    task = a_task(
        requires=(Requirement("secret", "STRIPE_KEY"), Requirement("tool", "docker")),
        gates=(GateSpec("lint", "A=1 ruff check ."),),
    )
    assert find_unmet_requirements(task, {"STRIPE_KEY": ""}, nothing) == (
        (Reason.SECRET, "secret STRIPE_KEY is not set in the environment"),
        (Reason.TOOL, "tool docker is not on PATH"),
        (Reason.TOOL, "ruff, which gate lint runs, is not on PATH"),
    )
    assert find_unmet_requirements(task, {"STRIPE_KEY": "x"}, everything) == ()


def test_a_secret_that_the_person_does_not_give_is_missing():
    task = a_task(requires=(Requirement("secret", "STRIPE_KEY"),))
    unmet = find_unmet_requirements(task, {"STRIPE_KEY": "x"}, everything, permitted=("OTHER",))
    assert unmet == (
        (Reason.SECRET, "secret STRIPE_KEY is not in sandbox.secrets of your own settings"),
    )


@pytest.mark.parametrize(
    "line", ["./check", "test -f x", "$TOOL x", "[ -f x ]", "(cd a && ./b)", "'unclosed", "! true"]
)
def test_a_gate_of_the_shell_s_own_words_or_paths_misses_no_tool(line):
    assert find_unmet_requirements(a_task(gates=(GateSpec("g", line),)), {}, nothing) == ()


def test_the_project_s_gates_are_looked_at_too():
    unmet = find_unmet_requirements(a_task(), {}, nothing, gates=(GateSpec("lint", "eslint ."),))
    assert unmet[0][0] is Reason.TOOL


def test_a_command_whose_program_is_nowhere_is_not_tried_five_times():
    task = a_task(command="nosuchprogram --fast")
    assert find_unmet_requirements(task, {}, lambda _: None) == (
        (Reason.TOOL, "nosuchprogram, which the task's Command runs, is not on PATH"),
    )
    assert find_unmet_requirements(task, {}, lambda name: f"/bin/{name}") == ()
