from settings_of import settings_of

from runner.config.settings import Settings
from runner.implementers.registry import IMPLEMENTERS, choose
from runner.model import Block, BlockKind, Spec, Task

FILE = Block(BlockKind.FILE, "a.py", "")


def a_task(**fields):
    return Task(id="TASK-001", title="x", line=1, spec=Spec("", ""), **fields)


def chosen(settings=None, **fields):
    return choose(a_task(**fields), settings or Settings()).name


def test_blocks_come_first_then_the_command_then_the_project_s():
    settings = settings_of(implementer="command", command="agent")
    assert chosen(settings, outputs=("a.py",), blocks=(FILE,), command="x") == "blocks"
    assert chosen(settings, outputs=("a.py",), command="x") == "command"
    assert choose(a_task(outputs=("a.py",)), settings).line == "agent"
    assert choose(a_task(outputs=("a.py",)), settings_of(command="agent")).line == "agent"


def test_the_name_in_the_plan_wins():
    assert chosen(implementer="Command", command="x", blocks=(FILE,)) == "command"


def test_a_task_that_writes_nothing_and_names_nobody_is_a_check(shop):
    check = choose(a_task(), Settings())
    assert (check.name, check.repeatable) == ("check", True)
    for settings in (settings_of(implementer="claude"), settings_of(agent_command="my-agent")):
        assert choose(a_task(), settings).name == "check"
    said = check.implement(shop.brief(), shop.context)
    assert (said.findings, shop.files()) == ((), {})


def test_a_task_that_writes_and_has_nobody_is_told_what_would_help():
    finding = choose(a_task(outputs=("a.py",)), Settings())
    assert finding.message == "no implementer"
    assert "Command" in finding.hint


def test_an_unknown_name_gets_did_you_mean():
    finding = choose(a_task(implementer="blcoks"), Settings())
    assert finding.message == 'unknown implementer "blcoks"'
    assert finding.hint == 'did you mean "blocks"?'
    known = "blocks, command, check, model, claude, codex, gemini, opencode, aider, agent"
    assert choose(a_task(implementer="zzz"), Settings()).hint == f"one of {known}, acp:NAME"


def test_each_is_registered_under_its_own_name(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    task = a_task(blocks=(FILE,), command="x")
    settings = settings_of(agent_command="x", model_execute="anthropic:x")
    made = {name: kind.for_task(task, settings).name for name, kind in IMPLEMENTERS.items()}
    assert made == {name: name for name in IMPLEMENTERS}
