"""Extensions of other distributions: loaded if the person names them, and never otherwise."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from runner.extensions.interface import Extension, load
from runner.extensions.registry import OURS, read_names

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/extension"
NAMED = 'build.extensions = ["acme_runner"]\n'
TASK = """## TASK-001: A licence

- Output files: `LICENCE.txt`
- Implementer: acme-licence
- Test contracts:
  - TC-001 (unit): `grep -q Acme LICENCE.txt`
"""


@pytest.fixture(autouse=True)
def at_home(alone):
    """Every test of this room has a home folder of its own."""


class Installed:
    """The example as pip would install it, into a folder; `mark` is written when it is imported."""

    def __init__(self, workplace, site, mark):
        self.workplace, self.site, self.mark = workplace, site, mark
        project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
        entries = project["entry-points"]["runner.extensions"]
        meta = site / "acme_runner-1.0.dist-info"
        meta.mkdir(parents=True)
        (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-runner\nVersion: 1.0\n")
        lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
        (meta / "entry_points.txt").write_text(f"[runner.extensions]\n{lines}\n")
        code = (EXAMPLE / "acme_runner.py").read_text()
        code += f"\nPath({str(mark)!r}).write_text('imported')\n"
        (site / "acme_runner.py").write_text(code)

    def settings(self, text):
        file = self.workplace.home / "config/runner/runner.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def runner(self, *words, flags=("-P",), path=None, **environ):
        site = str(self.site if path is None else path)
        found = os.pathsep.join(filter(None, (site, str(ROOT))))
        return subprocess.run(
            [sys.executable, *flags, "-m", "runner", *words],
            cwd=self.workplace.root,
            env={**os.environ, "PYTHONPATH": found, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def was_imported(self):
        return self.mark.exists()


@pytest.fixture
def acme(workplace, tmp_path):
    return Installed(workplace, tmp_path / "site", tmp_path / "mark")


def test_a_named_extension_adds_its_command_with_its_own_settings(acme):
    acme.settings(f'{NAMED}[extension.acme_runner]\nowner = "Roadrunner"\n')
    done = acme.runner("acme-owner", "--loud")
    assert (done.stdout, done.returncode) == ("ROADRUNNER\n", 0), done.stderr
    assert "acme_runner  writes the licence" in acme.runner("help", "--all").stdout


def test_a_value_that_its_settings_refuse_is_told(acme):
    acme.settings(f"{NAMED}[extension.acme_runner]\nowner = 7\n")
    done = acme.runner("acme-owner")
    assert done.returncode == 2
    assert "[extension.acme_runner]" in done.stderr
    assert "owner" in done.stderr


def test_a_named_extension_implements_a_task(acme):
    acme.settings(NAMED)
    acme.workplace.plan(TASK)
    done = acme.runner("run", "--trust", "--no-sandbox")
    assert done.returncode == 0, done.stdout + done.stderr
    assert acme.workplace.read("LICENCE.txt") == "Owned by Acme Ltd.\n"


def test_an_extension_that_nobody_named_is_never_imported(acme):
    acme.workplace.plan(TASK)
    for words in (("help",), ("status",), ("acme-owner",), ("validate",), ("run", "--trust")):
        acme.runner(*words)
    assert 'unknown implementer "acme-licence"' in acme.runner("validate").stdout
    assert not acme.was_imported


def test_neither_repository_nor_environment_nor_plan_names_one(acme):
    acme.workplace.plan("Extensions: acme_runner\n", TASK)
    acme.workplace.commit({"runner.toml": NAMED})
    said = acme.runner("settings", RUNNER_BUILD_EXTENSIONS="acme_runner")
    both = said.stdout + said.stderr
    assert both.count("extensions is ignored: only your own settings (~/.config/runner/") == 2
    assert acme.runner("acme-owner", RUNNER_BUILD_EXTENSIONS="acme_runner").returncode == 2
    assert not acme.was_imported


def test_one_in_the_environment_of_a_clone_does_not_run(workplace, tmp_path):
    site = workplace.root / ".venv/lib/python3.11/site-packages"
    acme = Installed(workplace, site, tmp_path / "mark")
    acme.settings(NAMED)
    done = acme.runner("acme-owner", path="", VIRTUAL_ENV=str(workplace.root / ".venv"))
    assert done.returncode == 2
    assert "'acme_runner' is not installed in the runner's environment" in done.stderr
    assert not acme.was_imported


def test_a_module_of_the_project_is_not_loaded_for_an_extension(workplace, tmp_path):
    acme = Installed(workplace, workplace.root, tmp_path / "mark")
    acme.settings(NAMED)
    done = acme.runner("acme-owner")  # whose PYTHONPATH has it
    assert done.returncode == 2
    assert "is a file of this project" in done.stderr
    assert not acme.was_imported


def test_status_and_a_run_with_nothing_to_do_load_no_extension(acme):
    acme.settings(NAMED)
    acme.workplace.plan(TASK)
    assert acme.runner("run", "--trust", "--no-sandbox").returncode == 0
    acme.mark.unlink()
    code = (
        "import sys, importlib.metadata as m\n"
        "real = m.entry_points\n"
        "def refuse(**given):\n"
        "    assert given.get('group') != 'runner.extensions', 'entry points were read'\n"
        "    return real(**given)\n"
        "m.entry_points = refuse\n"
        "from runner.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "own = ('runner.extensions.interface', 'runner.extensions.registry')\n"
        "found = [one for one in sys.modules if one.startswith('runner.extensions.')]\n"
        "assert code == 0 and set(found) <= set(own), (code, found)\n"
    )
    for words in (("status",), ("run", "--trust", "--no-sandbox")):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *words],
            cwd=acme.workplace.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(acme.site), str(ROOT)))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert not acme.was_imported


def test_the_store_has_the_tables_of_a_named_extension(acme):
    pytest.importorskip("alembic")
    steps = acme.site / "acme_steps"
    steps.mkdir()
    (steps / "__init__.py").touch()
    (steps / "a1_stamps.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\nrevision, down_revision = 'a1', None\n"
        "def upgrade():\n    op.create_table('acme_stamps', sa.Column('id', sa.Integer))\n"
    )
    code = acme.site / "acme_runner.py"
    code.write_text(
        code.read_text().replace("settings=", 'migrations="acme_steps",\n    settings=')
    )
    acme.settings(NAMED)
    for _ in range(2):
        done = acme.runner("store", "init")
        assert done.returncode == 0, done.stdout + done.stderr
    import sqlite3

    with sqlite3.connect(acme.workplace.home / "state/runner/team/store.sqlite") as store:
        assert store.execute("SELECT version_num FROM alembic_version_acme_runner").fetchone()
        assert store.execute("SELECT count(*) FROM acme_stamps").fetchone() == (0,)
    assert acme.runner("queue", "list").returncode == 0


POOL = """

class Pool:
    @staticmethod
    def open_cluster(loaded, repository, environ, say):
        from concurrent.futures import ThreadPoolExecutor
        from runner.run.choose_executor import Opened
        say(f"acme works at {loaded.settings.cluster.executor}")
        return Opened(ThreadPoolExecutor(2), 2)

    @staticmethod
    def describe_cluster(settings):
        return "the pool of Acme"

    @staticmethod
    def explain_exposure(task, implementer, settings):
        return "Acme forbids it" if settings.cluster.executor.endswith(":closed") else ""
"""


@pytest.fixture
def pool(acme):
    code = acme.site / "acme_runner.py"
    text = code.read_text()
    code.write_text(
        text.replace("settings=", 'executors={"acme": "acme_runner:Pool"},\n    settings=') + POOL
    )
    acme.workplace.plan(TASK)
    return acme


def test_a_named_extension_executes_tasks_where_the_setting_names_its_executor(pool):
    pool.settings(f'{NAMED}executor = "acme"\n')
    assert "the pool of Acme" in pool.runner("doctor").stdout
    done = pool.runner("run", "--trust", "--no-sandbox", "--executor", "acme:yard")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "acme works at acme:yard" in done.stdout + done.stderr
    assert pool.workplace.read("LICENCE.txt") == "Owned by Acme Ltd.\n"


def test_an_executor_of_an_extension_may_refuse_a_task(pool):
    pool.settings(f'{NAMED}executor = "acme:closed"\n')
    done = pool.runner("run", "--trust", "--no-sandbox")
    assert done.returncode != 0
    assert "Acme forbids it" in done.stdout + done.stderr


def test_an_executor_is_refused_where_no_extension_is_named(pool):
    done = pool.runner("run", "--trust", "--executor", "acme")
    assert done.returncode == 2
    assert "executor must be inline, threads, dask" in done.stderr
    assert not pool.was_imported


def test_an_executor_that_no_named_extension_has_is_refused_by_the_run(pool):
    pool.settings(f'{NAMED}executor = "dsk"\n')
    done = pool.runner("run", "--trust", "--no-sandbox")
    assert done.returncode == 2
    assert "unknown executor 'dsk'" in done.stderr


def answer_with(context):
    return lambda request: (request, context.builds)


def test_a_page_of_a_named_extension_is_one_of_the_servers_routes(monkeypatch):
    pytest.importorskip("starlette")
    from runner.config.paths import Places
    from runner.extensions import registry
    from runner.serve.application import PageContext, extension_routes

    page = Extension("acme", "a page", pages={"/acme": f"{__name__}:answer_with"})
    monkeypatch.setattr(registry, "others", lambda: (page,))
    context = PageContext("builds", Places.of(os.environ), {})
    routes = {one.path: one for one in extension_routes(context)}
    assert routes["/acme"].endpoint("a request") == ("a request", "builds")


def test_every_reference_of_our_own_extensions_is_there():
    tables = ("executors", "implementers")
    references = [
        value for one in OURS for table in tables for value in getattr(one, table).values()
    ]
    offered = [one.operations for one in OURS if one.operations]
    flags = [name for one in OURS for each in one.flags for name in (each.fields, each.execute)]
    assert (len(references), len(offered), len(flags)) == (2, 3, 6)
    for reference in (*references, *offered, *flags):
        assert load(reference)
    for row in (row for reference in offered for row in load(reference)):
        assert load(row.does)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b'build.extensions = ["a", "b"]', ("a", "b")),
        (b'build.extensions = "a"', ("a",)),
        (b"build.jobs = 3", ()),
        (b"build.extensions = [", ()),
        (b"build.extensions = [1, '']", ()),
    ],
)
def test_names_are_read_from_one_file_whatever_it_holds(content, names):
    assert read_names(content) == names


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("worker", "--trust", "--bridge", "acme/shop"),
            "runner team bridge github --repo acme/shop",
        ),
        (("queue", "budget", "--calls", "60/minute"), 'model.calls = "60/minute"'),
    ],
)
def test_a_flag_that_was_removed_names_the_way_out(workplace, words, hint):
    done = workplace.runner(*words)
    assert done.code == 2
    assert "was removed" in done.err
    assert hint in done.err
