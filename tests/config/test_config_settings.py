import json
import subprocess
import sys
from collections import Counter

import pytest
from settings_of import settings_of

from runner.config import schema
from runner.config.layers import TAKEN, line_of
from runner.config.loading import load_settings
from runner.config.settings import COMMON, Settings, declarations
from runner.errors import RunnerError
from runner.model import Network, Resource, ReviewMode


class House:
    """A home folder and a repository, and what `load_settings` makes of them."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.root = folder / "repository"
        self.cache = folder / "cache"
        self.environ = {"HOME": str(self.home)}
        self.root.mkdir()

    def user(self, text):
        path = self.home / ".config" / "runner" / "runner.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def repository(self, text, name="runner.toml"):
        (self.root / name).write_text(text)

    def load(self, **flags):
        return load_settings(self.root, self.environ, flags, self.cache)

    def refusal(self, **flags):
        with pytest.raises(RunnerError) as caught:
            self.load(**flags)
        return caught.value


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_where_nothing_is_set_the_defaults_of_the_formats_hold(house):
    settings = house.load().settings
    assert (settings.build.attempts, settings.budget.minutes) == (5, 30)
    assert (
        settings.limits.soft_seconds,
        settings.limits.idle_seconds,
        settings.limits.hard_seconds,
    ) == (300, 600, 1800)
    assert (
        settings.limits.gate_seconds,
        settings.limits.types_seconds,
        settings.limits.lint_seconds,
    ) == (300, 120, 60)
    assert (settings.proof.coverage, settings.proof.project_coverage) == (70, 70)
    assert (
        settings.build.checkpoint_every,
        settings.build.agents,
        settings.agent.context_tokens,
    ) == (5, 3, 8000)
    assert settings.build.jobs >= 1


def test_a_rate_of_calls_is_the_person_s_own_and_read_in_one_spelling(house):
    house.user('[model]\ncalls = "6/Minute"\n')
    house.repository('[model]\ncalls = "600/minute"\n')
    loaded = house.load()
    assert loaded.settings.model.calls == "6/minute"
    assert "model.calls" in loaded.notes[0]
    house.environ["RUNNER_MODEL_CALLS"] = "none"
    assert house.load().settings.model.calls == ""
    for said in ("60", "0/minute", "60/fortnight"):
        house.environ["RUNNER_MODEL_CALLS"] = said
        refused = house.refusal()
        assert refused.where == "environment RUNNER_MODEL_CALLS"
        assert "must be calls per minute or hour, such as 6/minute" in refused.message


def test_every_setting_is_declared_with_a_shape_that_holds_its_default():
    """Lists, tables and what may be left out have a default that nobody writes."""
    for one in declarations().values():
        adapter = schema.find_adapter(one.shape)
        if one.default not in (None, "", (), 0):
            assert adapter.validate_python(one.default) == one.default, one.name


def test_tables_have_at_most_25_settings_and_60_of_all_are_common():
    tables = Counter(name.partition(".")[0] for name in declarations() if "." in name)
    assert max(tables.values()) <= 25
    assert sum(COMMON in one.marks for one in declarations().values()) <= 60
    assert len(Settings.__struct_fields__) <= 25


def test_later_places_win_over_earlier_ones_and_each_value_says_where_it_came_from(house):
    house.user("build.attempts = 2\nbuild.jobs = 2\nbuild.agents = 2\nbudget.minutes = 2\n")
    house.repository("# ours\nbuild.jobs = 3\nbuild.agents = 3\nbudget.minutes = 3\n")
    house.environ |= {"RUNNER_BUILD_AGENTS": "4", "RUNNER_BUDGET_MINUTES": "4"}
    loaded = house.load(minutes=5)
    settings, sources = loaded.settings, loaded.sources
    assert (
        settings.build.attempts,
        settings.build.jobs,
        settings.build.agents,
        settings.budget.minutes,
    ) == (2, 3, 4, 5)
    assert sources["build.attempts"] == "~/.config/runner/runner.toml:1"
    assert sources["build.jobs"] == "runner.toml:2"
    assert sources["build.agents"] == "environment RUNNER_BUILD_AGENTS"
    assert sources["budget.minutes"] == "--minutes"
    assert sources["proof.coverage"] == "default"


def test_a_repository_may_keep_its_settings_in_pyproject(house):
    house.repository("[project]\nname = 'x'\n\n[tool.runner]\njobs = 3\n", "pyproject.toml")
    loaded = house.load()
    assert loaded.settings.build.jobs == 3
    assert loaded.sources["build.jobs"] == "pyproject.toml:5"


def test_two_files_of_one_repository_are_refused(house):
    house.repository("[tool.runner]\njobs = 3\n", "pyproject.toml")
    house.repository("build.jobs = 3\n")
    error = house.refusal()
    assert "two places" in error.message
    assert error.hint == "keep one of them"


def test_a_pyproject_that_says_nothing_to_us_stands_beside_runner_toml(house):
    house.repository("[project]\nname = 'runner-user'\n", "pyproject.toml")
    house.repository("build.jobs = 3\n")
    assert house.load().settings.build.jobs == 3


def test_all_mistakes_of_all_places_come_together_with_line_and_hint(house):
    house.user('build.jobs = "many"\n')
    house.repository('atempts = 3\nbuild.checkpoint_every = 9\n[gates.lint]\ncomand = "ruff"\n')
    house.environ["RUNNER_PROOF_COVERAGE"] = "180%"
    error = house.refusal()
    assert error.message == "6 settings are invalid"
    assert error.detail.splitlines() == [
        "~/.config/runner/runner.toml:1: build.jobs must be a whole number, not 'many'",
        "runner.toml:1: unknown setting atempts",
        '  hint: did you mean "build.attempts"?',
        "runner.toml:2: build.checkpoint_every must be at most 5, not 9",
        "runner.toml:3: gates.lint.command is missing",
        "runner.toml:4: gates.lint.comand is unknown",
        '  hint: did you mean "command"?',
        "environment RUNNER_PROOF_COVERAGE: proof.coverage must be at most 100, not '180'",
    ]


def test_one_mistake_is_told_as_itself(house):
    house.repository("build.jobs = true\n")
    error = house.refusal()
    assert (error.where, error.message) == (
        "runner.toml:1",
        "build.jobs must be a number, not True",
    )


def test_broken_toml_is_shown_with_a_caret(house):
    house.repository("build.jobs = 3\nagents = = 4\n")
    error = house.refusal()
    assert error.where == "runner.toml:2:10"
    assert error.detail == "agents = = 4\n         ^"


@pytest.mark.parametrize("content", [b"build.jobs = '\xff'\n", b"a = " + b"[" * 50_000, b"x = '"])
def test_hostile_files_are_refused_in_words(house, content):
    (house.root / "runner.toml").write_bytes(content)
    assert "runner.toml" in house.refusal().where


def test_a_link_out_of_the_repository_is_not_read(house, tmp_path):
    (tmp_path / "secret.toml").write_text("build.jobs = 3\n")
    (house.root / "runner.toml").symlink_to(tmp_path / "secret.toml")
    assert "outside the repository" in house.refusal().message


def test_a_fifo_does_not_hold_us_up(house):
    import os

    os.mkfifo(house.root / "runner.toml")
    assert "not a regular file" in house.refusal().message


def test_variables_of_others_and_our_own_set_nothing(house):
    house.environ |= dict.fromkeys(TAKEN, "?") | {
        "RUNNER_TRACKING_ID": "x",
        "RUNNER_BUILD_JOBS": "",
    }
    assert house.load() == load_settings(house.root, {"HOME": str(house.home)}, {}, None)


def test_the_env_file_of_a_repository_configures_nothing(house):
    house.repository("RUNNER_BUILD_JOBS=1\nRUNNER_BUILD_ATTEMPTS=1\nbuild.attempts=1\n", ".env")
    house.repository("build.agents = 2\n")
    assert house.load().settings.build.attempts == 5


def test_what_only_a_person_may_set_is_ignored_in_a_repository_and_said(house):
    house.repository(
        'build.jobs = 2\nreview.command = "sh"\n[sandbox]\nkind = "none"\nnetwork = "yes"\n'
        'pass-env = ["AWS"]\nsecrets = ["X"]\nread = ["/"]\n'
    )
    loaded = house.load()
    plain = settings_of(jobs=2)
    assert loaded.settings == plain
    assert len(loaded.notes) == 6
    assert loaded.notes[0] == (
        "runner.toml:2: review.command is ignored: only your own settings "
        "(~/.config/runner/runner.toml) or the environment may set it"
    )


def test_the_person_may_set_them(house):
    house.user(
        'sandbox.kind = "none"\nsandbox.network = "loopback"\nsandbox.pass_env = ["AWS_PROFILE"]\n'
    )
    settings = house.load().settings
    assert settings.sandbox.kind == "none"
    assert settings.sandbox.network is Network.LOOPBACK
    assert settings.sandbox.pass_env == ("AWS_PROFILE",)


def test_no_command_reaches_more_than_the_person_allows():
    capped = settings_of(network=Network.LOOPBACK)
    assert capped.network_for(Network.YES) is Network.LOOPBACK
    assert capped.network_for(Network.NO) is Network.NO
    assert Settings().network_for(Network.YES) is Network.YES


class TestReview:
    def test_a_repository_may_tighten_what_the_person_chose(self, house):
        house.user('review.mode = "off"\n')
        house.repository('review.mode = "prompt"\n')
        settings = house.load().settings
        assert settings.review_of(None, ReviewMode.OFF) is ReviewMode.PROMPT

    def test_a_repository_may_not_loosen_and_is_told_so(self, house):
        house.user('review.mode = "prompt"\n')
        house.repository('review.mode = "auto"\n')
        loaded = house.load()
        assert loaded.settings.review_of(None, ReviewMode.OFF) is ReviewMode.PROMPT
        assert "may only make reviews stricter" in loaded.notes[0]

    @pytest.mark.parametrize(
        ("name", "own", "repository", "holds", "notes"),
        [
            ("assurance", "tests", "independent", "independent", 0),
            ("assurance", "independent", "tests", "independent", 1),
            ("assurance", "independent", "independent", "independent", 0),
            ("test_visibility", "held-out", "visible", "held-out", 1),
            ("test_visibility", "visible", "held-out", "held-out", 0),
            ("test_visibility", "", "visible", "visible", 0),
        ],
    )
    def test_a_repository_raises_the_assurance_alone(
        self, house, name, own, repository, holds, notes
    ):
        house.user(f'proof.{name} = "{own}"\n' if own else "")
        house.repository(f'proof.{name} = "{repository}"\n')
        loaded = house.load()
        assert getattr(loaded.settings.proof, name) == holds
        assert len(loaded.notes) == notes

    def test_a_plan_tightens_too(self):
        assert Settings().review_of(ReviewMode.PROMPT, ReviewMode.OFF) is ReviewMode.PROMPT
        assert Settings().review_of(ReviewMode.OFF, ReviewMode.PROMPT) is ReviewMode.PROMPT

    def test_environment_and_flag_have_the_last_word(self, house):
        house.repository('review.mode = "prompt"\n')
        assert house.load(review="off").settings.review_of(
            ReviewMode.PROMPT, ReviewMode.PROMPT
        ) is (ReviewMode.OFF)
        house.environ["RUNNER_REVIEW_MODE"] = "auto"
        assert house.load().settings.review_of(None, ReviewMode.PROMPT) is ReviewMode.AUTO


class TestGates:
    def test_a_gate_is_a_command_or_a_table(self, house):
        house.repository(
            '[gates]\nlint = "ruff check ."\n'
            '[gates.types]\ncommand = "mypy"\nseconds = "2 minutes"\nnetwork = "loopback"\n'
        )
        lint, types = house.load().settings.gates_for("api")
        assert (lint.name, lint.command, lint.seconds) == ("lint", "ruff check .", 0)
        assert (types.command, types.seconds, types.network) == ("mypy", 120, Network.LOOPBACK)

    def test_a_gate_of_one_type_replaces_the_general_one_of_its_name(self, house):
        house.repository(
            '[gates]\nlint = "ruff"\nshots = {command = "shoot", types = ["UI"]}\n'
            '[gates.ui]\nlint = "eslint"\n'
        )
        settings = house.load().settings
        assert [gate.command for gate in settings.gates_for("ui")] == ["shoot", "eslint"]
        assert [gate.command for gate in settings.gates_for("api")] == ["ruff"]

    def test_a_repository_gate_takes_nothing_over_from_the_person_s_gate_of_its_name(self, house):
        house.user('[gates]\nlint = {command = "mine", network = "yes"}\nmore = "more"\n')
        house.repository('[gates]\nlint = "theirs"\n')
        loaded = house.load()
        lint, more = loaded.settings.gates
        assert (lint.command, lint.network, more.command) == ("theirs", Network.NO, "more")
        assert loaded.sources["gates.lint"] == "runner.toml:2"
        assert loaded.sources["gates.more"] == "~/.config/runner/runner.toml:3"

    def test_seconds_go_by_name_unless_the_gate_says_itself(self, house):
        house.repository(
            '[gates]\nlint = "a"\ntypes = "b"\nbuild = "c"\nslow = {command = "d", seconds = 9}\n'
        )
        settings = house.load().settings
        assert [settings.seconds_for(gate) for gate in settings.gates] == [60, 120, 300, 9]


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("RUNNER_LIMITS_SOFT_SECONDS", "2 minutes", "limits.soft_seconds", 120),
        ("RUNNER_LIMITS_HARD_SECONDS", "1h", "limits.hard_seconds", 3600),
        ("RUNNER_PROOF_COVERAGE", "80%", "proof.coverage", 80),
        ("RUNNER_SANDBOX_PASS_ENV", "A, B", "sandbox.pass_env", ("A", "B")),
        ("RUNNER_SANDBOX_READ", "/opt/a b:/srv", "sandbox.read", ("/opt/a b", "/srv")),
        (
            "RUNNER_TEAM_WORKER_FOLDERS",
            "/srv/a b:/opt",
            "team.worker_folders",
            ("/srv/a b", "/opt"),
        ),
        ("RUNNER_TEAM_WORKER_CREDENTIALS", "A@h B@i", "team.worker_credentials", ("A@h", "B@i")),
        ("RUNNER_BUILD_ID_PREFIXES", "JIRA-", "build.id_prefixes", ("JIRA",)),
    ],
)
def test_texts_of_the_environment_become_values(house, variable, text, name, value):
    house.environ[variable] = text
    assert house.load().value_of(name) == value


@pytest.mark.parametrize(
    ("written", "means"),
    [('"all"', "all"), ("true", "all"), ('"never"', "never"), ("false", "never")],
)
def test_when_all_is_verified_may_be_written_as_it_was_once(house, written, means):
    house.repository(f"proof.verify_at_end = {written}\n")
    assert house.load().settings.proof.verify_at_end == means


def test_a_repository_cannot_point_at_a_plan_outside(house):
    house.repository('build.task_graph = "../other/TASK-GRAPH.md"\n')
    assert house.refusal().message == "build.task_graph must be a path inside the repository"


def test_a_plain_run_and_a_second_run_never_import_pydantic(house):
    script = (
        "import json, sys, pathlib\n"
        "from runner.config.loading import load_settings\n"
        "root, home, cache = map(pathlib.Path, sys.argv[1:])\n"
        "load_settings(root, {'HOME': str(home)}, {'jobs': 3, 'review': None}, cache)\n"
        "print(json.dumps('pydantic' in sys.modules))\n"
    )

    def imports_pydantic():
        command = [sys.executable, "-c", script, house.root, house.home, house.cache]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    assert not imports_pydantic()
    house.repository("build.attempts = 2\n[gates]\nlint = 'x'\n[resources]\ngpu = 1\n")
    assert imports_pydantic()
    assert not imports_pydantic()
    house.repository("build.attempts = 3\n")
    assert imports_pydantic()


def test_the_kept_result_is_the_same_and_a_damaged_one_is_made_again(house):
    house.repository(
        "review.mode = 'prompt'\nsandbox.secrets = []\n[gates]\nlint = 'x'\n[resources]\ngpu = 1\n"
    )
    first = house.load(coverage="80%")
    assert house.load(coverage="80%") == first
    for path in (house.cache / "settings").iterdir():
        path.write_text("{")
    assert house.load(coverage="80%") == first


def test_a_cache_that_cannot_be_written_is_done_without(house):
    house.cache.write_text("a file is in the way")
    house.repository("build.jobs = 2\n")
    assert house.load().settings.build.jobs == 2


def test_a_table_of_sast_and_compilers_by_glob_are_settings(tmp_path):
    (tmp_path / "runner.toml").write_text(
        '[sast]\nblock_at = "low"\n\n[compile]\n"*.foo" = "fooc {file}"\n'
    )
    loaded = load_settings(tmp_path, {"HOME": str(tmp_path)}, {})
    assert loaded.settings.proof.sast_block_at == "low"
    assert loaded.settings.compile == (("*.foo", "fooc {file}"),)
    assert loaded.sources["proof.sast_block_at"] == "runner.toml:2"


def test_static_analysis_never_blocks_unless_somebody_asks(tmp_path):
    assert (
        load_settings(tmp_path, {"HOME": str(tmp_path)}, {}).settings.proof.sast_block_at == "never"
    )


def test_amounts_of_scarce_things_are_held_at_once_each_with_its_line(house):
    house.repository('[resources]\nGPU = -1\nfoo = "x"\nmemory = 4\nport = 70000\ndisk = "9G"\n')
    with pytest.raises(RunnerError) as caught:
        house.load()
    assert caught.value.detail.splitlines() == [
        "runner.toml:2: resources.GPU must be a number, or a size such as 4GB, not -1",
        "runner.toml:3: resources.foo must be a number, or a size such as 4GB, not 'x'",
        "runner.toml:4: resources.memory must be a size with its unit, such as 4GB, not 4",
        "runner.toml:5: resources.port must be a port, 1 to 65535, not 70000",
    ]


def test_names_of_scarce_things_are_the_same_in_every_spelling(house):
    house.user("[resources]\nGpu = 4\n")
    house.repository("[resources]\nGPU = 1\n")
    assert house.load().settings.resources == (Resource("gpu", "1"),)
    house.repository("[resources]\nGPU = 1\ngpu = 2\n")
    with pytest.raises(RunnerError, match="has gpu twice"):
        house.load()


@pytest.mark.parametrize("alias", ["write", "edit"])
def test_a_rule_about_write_or_edit_is_about_new_and_changed_files(house, alias):
    house.user(f'[[permission]]\ntool = "{alias}"\npattern = "src/**"\naction = "deny"\n')
    assert [str(one) for one in house.load().settings.permission] == [
        "deny write_file src/**",
        "deny modify_file src/**",
    ]


TEXT = '''\
jobs = 3 # [gates]
note = """
[gates]
lint = "not this"
"""
[gates]
"lint" = "ruff"
types.command = "mypy"
[gates.ui]
shot = "x"
'''


def test_keys_are_found_in_tables_dotted_and_quoted():
    assert line_of(TEXT, ("jobs",)) == 1
    assert line_of(TEXT, ("gates", "lint")) == 7
    assert line_of(TEXT, ("gates", "types", "command")) == 8
    assert line_of(TEXT, ("gates", "ui", "shot")) == 10


def test_a_key_that_is_not_written_is_placed_at_its_table():
    assert line_of(TEXT, ("gates", "ui", "missing")) == 9
    assert line_of(TEXT, ("nothing",)) == 0


def test_tables_of_a_list_are_told_apart():
    text = '[[permission]]\ntool = "a"\n\n[[permission]]\ntool = "b"\naction = "c"\n'
    assert line_of(text, ("permission", "0", "tool")) == 2
    assert line_of(text, ("permission", "1", "tool")) == 5
    assert line_of(text, ("permission", "1", "missing")) == 4
    assert line_of(text, ("permission",)) == 1


def loaded(folder, text, **environ):
    (folder / "runner.toml").write_text(text)
    return load_settings(folder, {"HOME": str(folder / "home"), **environ}, {}).settings


def test_skills_and_what_may_be_read_have_defaults(tmp_path):
    found = loaded(tmp_path, "")
    assert (found.skills.auto_discover, found.skills.fallback_to_builtin) == (True, True)
    assert (found.skills.folders, found.agent.read_allow) == (("skills",), ())


def test_they_are_set_by_file_and_by_environment(tmp_path):
    text = 'skills.folders = ["./skills/", "agents"]\nskills.auto_discover = false\n'
    found = loaded(tmp_path, text, RUNNER_AGENT_READ_ALLOW="src/**, *.md")
    assert found.skills.folders == ("skills", "agents")
    assert found.skills.auto_discover is False
    assert found.read_allowed == (("src/**", "*.md"),)


@pytest.mark.parametrize("folder", ["/etc", "../skills", ""])
def test_a_folder_of_skills_lies_in_the_project(tmp_path, folder):
    with pytest.raises(RunnerError) as caught:
        loaded(tmp_path, f'skills.folders = ["{folder}"]\n')
    assert "skills.folders must be folders inside the project" in caught.value.message


def test_they_stand_in_a_table_of_their_own(tmp_path):
    found = loaded(tmp_path, '[skills]\nfallback_to_builtin = false\nfolders = ["agents"]\n')
    assert found.skills.fallback_to_builtin is False
    assert found.skills.folders == ("agents",)


def test_a_repository_may_only_narrow_what_may_be_read(tmp_path):
    own = tmp_path / "home/.config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text('agent.read_allow = ["src/**"]\n')
    found = loaded(tmp_path, 'agent.read_allow = ["**"]\n')
    assert found.read_allowed == (("src/**",), ("**",))


@pytest.fixture
def load(tmp_path):
    """Loads what the person and the repository set."""
    home, root = tmp_path / "home", tmp_path / "repo"
    (home / ".config/runner").mkdir(parents=True)
    root.mkdir()

    def load(mine="", repository="", **environ):
        (home / ".config/runner/runner.toml").write_text(mine)
        (root / "runner.toml").write_text(repository)
        return load_settings(root, {"HOME": str(home), **environ}, {})

    return load


def test_models_are_a_table_and_each_kind_of_session_has_its_own(load):
    loaded = load('[model]\nplan = "opus"\nexecute = "a/b:c"\n', RUNNER_MODEL_REVIEW="strict")
    settings = loaded.settings
    assert (settings.model.plan, settings.model.execute) == ("opus", "a/b:c")
    assert settings.model.review == "strict"
    assert loaded.sources["model.plan"] == "~/.config/runner/runner.toml:2"


def test_a_repository_names_neither_the_program_nor_what_it_is_given(load):
    theirs = 'agent.command = "sh"\nagent.acp_command = "sh"\n'
    theirs += 'agent.env = ["AWS_SECRET"]\nagent.files = [".ssh/id"]\n'
    loaded = load(repository=theirs + '[model]\nexecute = "theirs"\n')
    assert loaded.settings.agent.command == loaded.settings.agent.acp_command == ""
    assert loaded.settings.agent.env == ()
    assert loaded.settings.agent.files == ()
    assert len(loaded.notes) == 4
    assert loaded.settings.model.execute == "theirs"


def test_files_of_a_login_lie_below_home(load):
    assert load('agent.files = "~/.a/b:.c"').settings.agent.files == (".a/b", ".c")
    for bad in ("/etc/passwd", "../x", "~/"):
        with pytest.raises(RunnerError, match="below your home folder"):
            load(f'agent.files = ["{bad}"]')


def test_a_models_name_is_no_option(load):
    with pytest.raises(RunnerError, match="must be a model name"):
        load('[model]\nplan = "--dangerously"')


def test_what_a_session_is_told_sets_nothing(load):
    told = {"RUNNER_MODE": "x", "RUNNER_MODEL": "x", "RUNNER_PLAN": "x", "RUNNER_HOOK": "x"}
    assert load(**told).settings == load().settings
