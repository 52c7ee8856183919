"""The names of settings: tables, names of former versions, variables, and who may set what."""

import json
from itertools import chain

import pytest

from runner.config.layers import TAKEN, variables_of
from runner.config.loading import load_settings
from runner.config.settings import OWN, OWN_FILE, declarations
from runner.errors import RunnerError

GITHUB = frozenset(
    # docs.github.com, "Variables reference", and actions/runner's own
    f"RUNNER_{name}"
    for name in (
        *("OS", "ARCH", "NAME", "TEMP", "TOOL_CACHE", "DEBUG", "ENVIRONMENT", "WORKSPACE"),
        *("TRACKING_ID", "PERFLOG", "ALLOW_RUNASROOT", "USER", "MANUALLY_TRAP_SIG", "ROOT"),
    )
)
FILES = (("runner.toml", ""), ("pyproject.toml", "tool.runner."))


@pytest.fixture
def load(tmp_path):
    home, root = tmp_path / "home", tmp_path / "shop"
    own = home / ".config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    root.mkdir()

    def load_them(mine="", theirs="", *, name="runner.toml", environ=(), **flags):
        own.write_text(mine)
        for file, _ in FILES:
            (root / file).write_text(theirs if file == name else "")
        return load_settings(root, {"HOME": str(home), **dict(environ)}, flags)

    return load_them


def write(name, value):
    """A line of TOML with this dotted key."""
    return f"{name} = {json.dumps(value)}\n"


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("jobs = 3", "[build]\njobs = 3", "build.jobs", 3),
        ("soft-seconds = 9", "[limits]\nsoft-seconds = 9", "limits.soft_seconds", 9),
        ('sandbox = "none"', '[sandbox]\nkind = "none"', "sandbox.kind", "none"),
        ('model_plan = "a"', '[model]\nplan = "a"', "model.plan", "a"),
        ('[sast]\nblock_at = "low"', 'proof.sast_block_at = "low"', "proof.sast_block_at", "low"),
        ('sast_block_at = "low"', '"proof".sast_block_at = "low"', "proof.sast_block_at", "low"),
        ('skills_folders = ["a"]', '[skills]\nfolders = ["a"]', "skills.folders", ("a",)),
    ],
)
def test_old_names_are_read_with_one_line_about_the_file(load, old, new, name, value):
    assert load(new).notes == ()
    assert load(new).value_of(name) == load(old).value_of(name) == value
    (note,) = load(old).notes
    assert note.startswith("~/.config/runner/runner.toml: rename old settings: ")
    assert note.endswith(f" to {name}")


def test_all_old_names_of_a_file_or_of_the_environment_share_a_line(load):
    loaded = load("jobs = 2\nagents = 2\n", environ={"RUNNER_JOBS": "3", "RUNNER_AGENTS": "3"})
    of_file, of_environment = (note.partition(": rename old settings: ") for note in loaded.notes)
    assert of_file[0] == "~/.config/runner/runner.toml"
    assert of_file[2] == "jobs to build.jobs, agents to build.agents"
    assert of_environment[0] == "environment"
    assert "RUNNER_JOBS to RUNNER_BUILD_JOBS, RUNNER_AGENTS to" in of_environment[2]
    assert loaded.settings.build.jobs == 3
    assert loaded.sources["build.jobs"] == "environment RUNNER_JOBS"


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("jobs = 2\n\n[build]\njobs = 3\n", 4),
        ("pass-env = []\npass_env = []\n", 2),
        ("[build]\nplan-first = true\nplan_first = true\n", 3),
    ],
)
def test_two_names_of_one_setting_in_one_file_are_refused_with_both_lines(load, text, second):
    with pytest.raises(RunnerError) as refused:
        load(text)
    first = next(n for n, line in enumerate(text.splitlines(), 1) if "=" in line)
    places = [f"~/.config/runner/runner.toml:{line}" for line in (first, second)]
    assert refused.value.code == 2
    assert refused.value.message.endswith(f"is set twice: {' and '.join(places)}")


@pytest.mark.parametrize("mine", ["jobs = 2", "[build]\njobs = 2"])
@pytest.mark.parametrize("theirs", ["jobs = 3", "[build]\njobs = 3"])
def test_the_later_layer_wins_whatever_the_spelling(load, mine, theirs):
    assert load(mine, theirs).settings.build.jobs == 3
    for variable in ("RUNNER_JOBS", "RUNNER_BUILD_JOBS"):
        assert load(mine, theirs, environ={variable: "4"}).settings.build.jobs == 4
        assert load(mine, theirs, environ={variable: "4"}, jobs=5).settings.build.jobs == 5


def test_no_variable_sets_two_settings_or_is_one_of_another_program():
    variables = [set(variables_of(one)) for one in declarations().values()]
    assert len(set(chain(*variables))) == sum(map(len, variables))
    assert not GITHUB.union(TAKEN) & set(chain(*variables))
    for one in declarations().values():
        if "." in one.name:
            assert variables_of(one)[0] == f"RUNNER_{one.name.upper().replace('.', '_')}"


def example(one):
    """A value that a file can have, and that is not the default."""
    examples = {
        "bool": not one.default,
        "int": 7,
        "float": 7,
        "Seconds": 7,
        "EventDays": 9,
        "Leases": {"API_TOKEN": {"command": "true"}},
        "McpServers": {"docs": {"command": "true"}},
        "Reach": "no",
        "Rate": "9MB/s",
        "Size": "9MB",
        "AbsolutePath": "/srv/a",
        "NatsAddress": "nats://evil:1",
        "ReceiverAddress": "https://evil.example/x",
        "ServerAddress": "https://evil.example",
        "CallRate": "9/minute",
        "ExecutorName": "inline",
        "Endings": ["done"],
        "HomePaths": [".ssh/id"],
    }
    words = one.shape.split("|")
    if len(words) > 1:
        return next(word for word in words if word != one.default)
    lists = ("WordList", "Names", "Paths", "Globs")
    return examples.get(one.shape, ["evil"] if one.shape in lists else "evil")


OF_THE_PERSON = [one for one in declarations().values() if {OWN, OWN_FILE} & set(one.marks)]


@pytest.mark.parametrize("one", OF_THE_PERSON, ids=lambda one: one.name)
def test_what_only_the_person_sets_is_refused_from_a_repository_in_every_spelling(load, one):
    value = example(one)
    by_person = load(write(one.name, value) if not isinstance(value, dict) else table(one, value))
    assert by_person.value_of(one.name) != load().value_of(one.name)
    for name, place in FILES:
        for spelled in spellings(one, value, place):
            loaded = load("", spelled, name=name)
            assert loaded.settings == load().settings, spelled
            assert any("is ignored: only your own settings" in note for note in loaded.notes)
    for variable in variables_of(one):
        loaded = load("", environ={variable: text(value)})
        taken = loaded.value_of(one.name) != load().value_of(one.name)
        assert taken == (OWN_FILE not in one.marks), variable


def text(value):
    return ",".join(value) if isinstance(value, list) else str(value)


def table(one, value):
    return "".join(
        f"[{one.name}.{key}]\n" + "".join(write(*pair) for pair in entry.items())
        for key, entry in value.items()
    )


def spellings(one, value, place):
    """The ways to write a setting: dotted, in its table, flat, with dashes, with quotes."""
    if isinstance(value, dict):
        return [table(one, value).replace("[", f"[{place}")]
    head, _, name = one.name.rpartition(".")
    written = json.dumps(value)
    flat = [f"{place}{old} = {written}\n" for old in {one.old, one.old.replace("_", "-")}]
    return [
        *flat,
        f"{place}{one.name} = {written}\n",
        f"{place}{one.name.replace('_', '-')} = {written}\n",
        f'{place}"{head}"."{name}" = {written}\n',
        f'{place}"{one.name}" = {written}\n',
        f"[{place}{head}]\n{name} = {written}\n",
        f"[{place}{head}]\n{name.replace('_', '-')} = {written}\n",
        f"{place}{head} = {{{name} = {written}}}\n",
    ]


def test_a_key_that_looks_like_a_variable_is_no_setting(load):
    with pytest.raises(RunnerError, match="unknown setting RUNNER_SANDBOX_KIND"):
        load("", 'RUNNER_SANDBOX_KIND = "none"\n')
