"""Who may set what of a model, and what is missing to ask one."""

import subprocess
import sys

import pytest

from runner.config.loading import load_settings
from runner.config.permissions import Rulebook, evaluate_permission, format_subject, write_finding
from runner.config.setting_values import McpServer
from runner.config.shell_rules import Permission, PermissionAnswer, Permit
from runner.errors import RunnerError
from runner.extensions import interface
from runner.extensions.llm.model import ModelLoop
from runner.implementers.registry import IMPLEMENTERS
from runner.model import Finding, Network

MINE = """\
[model]
execute = "openai-compatible:qwen"
base_url = "http://127.0.0.1:8080/v1"

[[permission]]
tool = "write_file"
pattern = "src/**"
action = "Deny"

[mcp.docs]
command = "docs-server --stdio"
env = ["DOCS_TOKEN"]
network = "yes"
"""
THEIRS = """\
[model]
base_url = "https://elsewhere.example"
key_env = "AWS_SECRET"

[[permission]]
tool = "read_file"
pattern = "private/**"
action = "ask"

[[permission]]
tool = "*"
action = "allow"

[mcp.theirs]
command = "curl example.org"
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    def loaded(mine="", theirs="", **environ):
        (tmp_path / "config/runner").mkdir(parents=True, exist_ok=True)
        (tmp_path / "config/runner/runner.toml").write_text(mine)
        (tmp_path / "repo").mkdir(exist_ok=True)
        (tmp_path / "repo/runner.toml").write_text(theirs)
        environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), **environ}
        return load_settings(tmp_path / "repo", environ, {})

    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return loaded


def test_a_person_sets_servers_and_addresses_and_a_repository_only_tightens(load):
    loaded = load(MINE, THEIRS)
    settings = loaded.settings
    assert settings.model.base_url == "http://127.0.0.1:8080/v1"
    assert settings.model.key_env == ""
    assert settings.mcp == (McpServer("docs", "docs-server --stdio", ("DOCS_TOKEN",), Network.YES),)
    assert settings.permission == (Permission("write_file", "src/**", Permit.DENY),)
    assert settings.floor.permission == (
        Permission("read_file", "private/**", Permit.ASK),
        Permission("*", "**", Permit.ALLOW),
    )
    ignored = [note.split(": ")[1].split(" ")[0] for note in loaded.notes]
    assert ignored == ["mcp", "model.base_url", "model.key_env"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[permission]]\ntool = "wrote"\naction = "deny"', "permission.tool must be one of"),
        ('[[permission]]\ntool = "MCP__*"\naction = "deny"', "permission.tool must be one of"),
        ('[[permission-floor]]\ntool = "*"\naction = "allow"', "unknown"),
        ('[[permission]]\ntool = "search"\naction = "maybe"', "permission.action must be"),
        ('[[permission]]\ntool = "*"\naction = "deny"\npattern = "!a"', "must not begin with !"),
        ('[[permission]]\naction = "deny"', "permission.tool is missing"),
        ('[mcp."a b"]\ncommand = "x"', "must be at most 32 letters"),
        ('[mcp.a]\nenv = "X"', "mcp.a.command is missing"),
        ('[model]\nbase_url = "localhost"', "must be a URL"),
    ],
)
def test_a_mistake_is_told_with_its_place(load, text, said):
    with pytest.raises(RunnerError) as raised:
        load(text)
    assert said in str(raised.value)
    assert "runner.toml:" in raised.value.where


def why_not(settings):
    made = ModelLoop.for_task(None, settings)
    return (made.message, made.hint) if isinstance(made, Finding) else None


def test_what_is_missing_is_told_with_what_would_help(load, monkeypatch):
    pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")
    assert why_not(load().settings)[0] == "no model is set to implement tasks"
    named = {
        "antropic:x": ('"antropic:x" is not a valid model', 'did you mean "anthropic"?'),
        "claude": ('"claude" is not a valid model', None),
        "openai-compatible:x": ("no server address is set for openai-compatible:x", None),
        "anthropic:x": (
            "anthropic:x needs a key: ANTHROPIC_API_KEY is not set",
            "export ANTHROPIC_API_KEY=… in the shell that starts the runner",
        ),
        "google:x": ("google:x needs a key: GOOGLE_API_KEY or GEMINI_API_KEY is not set", None),
    }
    for name, (message, hint) in named.items():
        said = why_not(load(RUNNER_MODEL_EXECUTE=name).settings)
        assert said[0] == message
        assert hint in (None, said[1])
    monkeypatch.setenv("GEMINI_API_KEY", "x")
    assert why_not(load(RUNNER_MODEL_EXECUTE="google:x").settings) is None
    monkeypatch.setattr("runner.extensions.llm.model._is_installed", lambda _: False)
    said = why_not(load(RUNNER_MODEL_EXECUTE="google:x").settings)
    assert said[1] == "pip install 'task-graph-runner[llm]'"


def test_the_model_is_an_implementer_that_costs_nothing_before_it_is_asked():
    assert interface.load(IMPLEMENTERS["model"].reference) is ModelLoop
    code = (
        "import sys, runner.implementers.registry, runner.cli; "
        "print([n for n in ('pydantic_ai', 'pydantic', 'httpx2', 'asyncio') if n in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


# --- permission rules -----------------------------------------------------------------


def made(rules):
    return tuple(Permission(tool, pattern, Permit(action)) for tool, pattern, action in rules)


@pytest.mark.parametrize(
    ("rules", "floor", "permit"),
    [
        ((), (), "allow"),
        ((("*", "**", "deny"),), (), "deny"),
        ((("write_*", "src/**", "deny"), ("write_file", "src/a.py", "allow")), (), "allow"),
        ((("write_file", "src/a.py", "allow"), ("write_*", "src/**", "deny")), (), "deny"),
        ((("read_file", "**", "deny"),), (), "allow"),
        ((("write_file", "*.py", "ask"),), (), "ask"),
        ((("write_file", "a.py", "ask"),), (("*", "src/", "deny"),), "deny"),
        ((("write_file", "**", "deny"),), (("*", "**", "allow"),), "deny"),
    ],
)
def test_the_last_rule_that_matches_wins_and_a_repository_only_tightens(rules, floor, permit):
    assert evaluate_permission("write_file", "src/a.py", made(rules), made(floor)) is Permit(permit)


def test_the_pipeline_can_ask_the_same_rules_about_any_write():
    rules = made([("write_file", "new/**", "deny"), ("modify_*", "old/**", "ask")])
    assert write_finding("new/a", rules) is None
    assert write_finding("new/a", rules, is_new=True).message == (
        'the rule "deny write_file new/**" of your settings forbids writing this file'
    )
    assert write_finding("new/a", (), rules, is_new=True).message.startswith(
        'the rule "deny write_file new/**" of the repository\'s settings'
    )
    assert write_finding("old/a", rules).message.endswith("requires approval for this file")
    assert write_finding("old/a", rules, reviewed=True) is None
    yes, no = (PermissionAnswer("modify_file", "old/a", said, "not now") for said in (True, False))
    assert write_finding("old/a", rules, answers=(no, yes)) is None
    assert write_finding("old/a", rules, answers=(no,), reviewed=True).message.endswith(": not now")
    assert write_finding("old/b", rules, answers=(yes,)).refuses
    denied = PermissionAnswer("write_file", "new/a", allowed=True)
    assert write_finding("new/a", rules, answers=(denied,), is_new=True).refuses


@pytest.mark.parametrize(
    ("rule", "tool", "subject"),
    [
        (("write_file", "./src/**"), "write_file", "src/a"),
        (("write_file", "src//a"), "write_file", "src/a"),
        (("write_file", "src/./a"), "write_file", "src/a"),
        (("write_file", "#notes"), "write_file", "#notes"),
        (("read_file", "private/"), "read_file", "private/a/b"),
        (("read_file", "/"), "read_file", "a"),
        (("read_file", "private/x"), "read_file", "./private//./x"),
        (("read_file", "private/x"), "read_file", "src/../private/x"),
        (("read_file", "private/x"), "read_file", "Private/X"),
        (("mcp__*", "**"), "mcp__docs__get", '{"a": "b\nc"}'),
        (("mcp__Docs__*", "*"), "mcp__docs__get", "{}"),
        (("mcp__docs__get", '*"Secret"*'), "mcp__docs__get", '{"a": "secret"}'),
        (("[a-z]*", "**"), "run_gate", "deploy"),
    ],
)
def test_no_way_of_writing_a_path_or_a_rule_leads_past_a_repositorys_deny(rule, tool, subject):
    floor = made([(*rule, "deny")])
    loosest = made([("*", "**", "allow"), (tool, "**", "allow"), (tool, "**", "ask")])
    assert evaluate_permission(tool, subject, loosest, floor) is Permit.DENY
    assert evaluate_permission(tool, subject, floor, made([("*", "**", "allow")])) is Permit.DENY
    book = Rulebook(loosest, floor, (PermissionAnswer(tool, subject, allowed=True),))
    assert book.word(tool, subject).permit is Permit.DENY
    assert book.word(tool, subject).of_repository


def test_an_allowing_rule_is_exact_in_the_case_of_letters():
    rules = made([("write_file", "**", "deny"), ("write_file", "Docs/*", "allow")])
    assert evaluate_permission("write_file", "Docs/a", rules) is Permit.ALLOW
    assert evaluate_permission("write_file", "docs/a", rules) is Permit.DENY


def test_what_a_person_is_asked_about_is_bounded_exact_and_of_no_secret():
    assert format_subject("write_file", "./a//b") == "a/b"
    key = "a-value-" + "of-a-task"
    assert key not in format_subject("mcp__a__b", f'{{"t": "{key}"}}', (key,))
    long = [format_subject("mcp__a__b", "x" * 5_000 + end) for end in "ab"]
    assert long[0] != long[1]
    assert all(len(one) < 800 for one in long)
