"""What a hint tells a person to type, look up or set is there: checked for every hint.

An option belongs to an operation, a setting is declared and takes the value, a variable is read, a
field can be written in a plan, a page is in docs/, and git has the command.
"""

import re
import subprocess

import pytest
from hint_texts import ANY, all_hints

from runner.commands.parser import make_parser
from runner.config.declarations import SettingMark
from runner.config.layers import variables_of
from runner.config.loading import load_settings
from runner.config.paths import Places
from runner.config.settings import declarations
from runner.operations.table import all_operations
from runner.plan.document import read_plan
from runner.plan.field_names import FIELDS

OWN = {SettingMark.OWN, SettingMark.OWN_FILE}
TABLES = {name.partition(".")[0] for name in declarations() if "." in name}
OTHER_PROGRAM = re.compile(r"(?:^|[\s`(\"])(?:git|dask|gh|cp|gemini)\b")
VALUE = r"""(?P<value>"[^"]*"|\[[^\]]*\]|\d+|true|false)"""
SETTING = re.compile(rf"(?<![\w./-])(?P<name>(?:{'|'.join(TABLES)})\.[a-z_]+)(?: = {VALUE})?")
IN_TABLE = re.compile(rf"\[(?P<table>{'|'.join(TABLES)})\] (?P<key>[a-z_]+) = {VALUE}")
FIELD = re.compile(r"(?:^|[\s`])- (?P<field>[A-Z][a-z-]+(?: [a-z]+)*):")


def cases(find):
    """Return the pairs of a place with what `find` sees in its hint, as cases of a test."""
    found = [(place, text, one) for place, text in all_hints() for one in find(text)]
    return [pytest.param(text, one, id=f"{place} {one}") for place, text, one in found]


@pytest.fixture(scope="module")
def options():
    parsers = map(make_parser, all_operations().values())
    return {name for one in parsers for action in one._actions for name in action.option_strings}


@pytest.mark.parametrize(("hint", "option"), cases(re.compile(r"(?<![\w-])--[a-z][a-z-]+").findall))
def test_an_option_of_a_hint_is_one_of_an_operation(hint, option, options):
    assert option in options or OTHER_PROGRAM.search(hint.partition(option)[0])


def settings_in(text):
    """Return the settings that a text names, each with its value or an empty text."""
    found = [(one["name"], one["value"] or "") for one in SETTING.finditer(text)]
    return [
        *(one for one in found if not one[0].endswith((".toml", ".json"))),
        *((f"{one['table']}.{one['key']}", one["value"]) for one in IN_TABLE.finditer(text)),
    ]


@pytest.mark.parametrize(("hint", "setting"), cases(settings_in))
def test_a_setting_of_a_hint_is_declared_and_takes_the_value(hint, setting, tmp_path):
    name, value = setting
    assert name in declarations()
    is_set = re.search(
        rf"\b(?:set|raise|from|or) (?:\[\w+\] )?(?:{name}|{name.split('.')[1]} =)", hint
    )
    if is_set and OWN & set(declarations()[name].marks):
        assert re.search(r"\bown settings|\byourself\b|RUNNER_", hint), "a repository cannot"
    if value and ANY not in value and "…" not in value:
        table, _, key = name.partition(".")
        environ = {"HOME": str(tmp_path)}
        own = Places.of(environ).settings_file
        own.parent.mkdir(parents=True)
        filled = re.sub(r"\b[A-Z]{3,}\b", lambda word: word[0].lower(), value)
        own.write_text(f"[{table}]\n{key} = {filled}\n")
        loaded = load_settings(tmp_path / "repository", environ, {})
        assert loaded.sources[name] != "default"


@pytest.mark.parametrize(
    ("hint", "variable"), cases(re.compile(r"\bRUNNER_[A-Z_]+\b(?!=x)").findall)
)
def test_a_variable_of_a_hint_is_read(hint, variable):
    known = {name for one in declarations().values() for name in variables_of(one)}
    assert variable in known | {"RUNNER_PLAN"}


@pytest.mark.parametrize(("hint", "field"), cases(FIELD.findall))
def test_a_field_of_a_hint_can_be_written_in_a_plan(hint, field):
    assert field in {name for names in FIELDS.values() for name in names}
    line = FIELD.search(hint)
    plan = f"# Plan\n\n## TASK-001: One\n\n{hint[line.start() :].strip(' `')}\n"
    problems = read_plan(plan.encode(), "TASK-GRAPH.md").problems
    assert not [one for one in problems if "unknown field" in one.message]


@pytest.mark.parametrize(("hint", "page"), cases(re.compile(r"\bdocs/[\w/-]+(?:\.md)?").findall))
def test_a_page_of_a_hint_is_there(hint, page, request):
    assert (request.config.rootpath / page).exists()


@pytest.mark.parametrize(
    ("hint", "command"),
    cases(re.compile(r"(?:^|[`:;,=] ?|&& )git (?!cannot)([a-z][a-z-]+)").findall),
)
def test_a_git_command_of_a_hint_exists(hint, command):
    listed = subprocess.run(("git", "--list-cmds=main"), capture_output=True, text=True, check=True)
    assert command in listed.stdout.split()
