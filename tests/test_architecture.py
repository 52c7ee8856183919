"""The house holds: imports point down, and every stranger has one door."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from house import circles, circles_at_start, imports_in_functions, lazy_modules, nodes, parsed

ROOT = Path(__file__).parent.parent
PRODUCT = sorted((ROOT / "runner").rglob("*.py"))

DOORS = {
    "markdown_it": ("plan/",),
    "networkx": ("plan/graph.py",),
    "git": ("repo/",),
    "subprocess": ("process/",),
    "rich": ("report/",),
    "bandit": ("writes/bandit_scan.py",),
    "detect_secrets": ("secrets/detect_secrets.py",),
    "jsonschema": ("contracts/",),
    "schemathesis": ("contracts/inside/",),
    "coverage": ("gates/coverage/", "gates/startup_lines.py"),
    "pygls": ("editor/language_server.py",),
    "lsprotocol": ("editor/language_server.py", "editor/language_server.py"),
    "psutil": ("process/process_table.py",),
    "sqlalchemy": ("extensions/team/",),
    "opentelemetry": ("extensions/telemetry/spans.py",),
    "prometheus_client": ("extensions/telemetry/metrics.py",),
    "nats": ("extensions/telemetry/delivery_process.py",),
    "alembic": ("extensions/team/store_upkeep.py", "extensions/team/migrations/"),
    "dask": ("extensions/cluster/",),
    "distributed": ("extensions/cluster/",),
}


def is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


@cache
def imports_at_runtime(file: Path) -> frozenset[str]:
    """Top names of what a module imports anywhere, later too; type checking aside."""
    skipped = {
        id(inner)
        for node in nodes(file)
        if isinstance(node, ast.If) and is_for_types(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = {name.partition(".")[0] for _, name in lazy_modules(file)}
    for node in nodes(file):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


def test_every_import_points_down() -> None:
    from importlinter.api import read_configuration
    from importlinter.cli import lint_imports

    assert read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), is_debug_mode=False) == 0


def test_a_stranger_has_one_door() -> None:
    users = {
        (stranger, file.relative_to(ROOT / "runner").as_posix())
        for file in PRODUCT
        for stranger in imports_at_runtime(file) & DOORS.keys()
    }
    assert {stranger for stranger, _ in users} == DOORS.keys()
    assert {(one, user) for one, user in users if not user.startswith(DOORS[one])} == set()


def imports_for_types(file: Path) -> set[tuple[str, str]]:
    """What a module imports where only the type checker looks: the name here, and the full one."""
    found: set[tuple[str, str]] = set()
    for node in parsed(file).body:
        if not isinstance(node, ast.If) or not is_for_types(node.test):
            continue
        for one in node.body:
            if isinstance(one, ast.Import):
                found |= {(alias.asname or alias.name, alias.name) for alias in one.names}
            elif isinstance(one, ast.ImportFrom):
                found |= {(a.asname or a.name, f"{one.module}.{a.name}") for a in one.names}
    return found


def test_what_is_loaded_late_is_what_its_types_say() -> None:
    late = {(file, pair) for file in PRODUCT for pair in lazy_modules(file)}
    assert len(late) > 100
    assert {(file, pair) for file, pair in late if pair not in imports_for_types(file)} == set()


MOST_IMPORTS_IN_FUNCTIONS = 150
"""Where a name would collide, or a library may be missing."""
STAND_ALONE = (
    *("gates/report_hook", "gates/sitecustomize_hook", "gates/startup_lines"),
    "gates/line_tracer",
    "contracts/inside/",
)
"""What runs in a process of the project that is proven, where nothing else of ours is imported."""


def test_what_is_loaded_late_is_said_at_the_top_of_a_file() -> None:
    """By `lazy_module`; an import in a function hides from its reader what a file needs."""
    assert imports_in_functions(STAND_ALONE) <= MOST_IMPORTS_IN_FUNCTIONS


LINUX = (
    "sched_getaffinity prctl pidfd_open memfd_create waitid getxattr setxattr O_PATH O_TMPFILE "
    "CLOCK_BOOTTIME copy_file_range splice fdatasync posix_fallocate posix_fadvise pipe2 unshare "
    "setns epoll sigtimedwait SOCK_CLOEXEC SO_PEERCRED eventfd prlimit"
)
"""Names of the standard library that macOS does not have."""
OF_LINUX = (
    "runner/process/platform.py",  # asks whether each is there
    "runner/process/cgroups.py",  # found by what /proc says
    *("runner/process/landlock.py", "runner/process/syscalls.py"),  # chosen on Linux alone
    "runner/config/setting_values.py",  # beside what stands for it
)


def test_what_only_linux_has_is_asked_for_in_one_place() -> None:
    others = [file for file in PRODUCT if file.relative_to(ROOT).as_posix() not in OF_LINUX]
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.attr}"
        for file in others
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and node.attr in LINUX.split()
    ]
    assert found == []


def test_only_the_command_line_catches_everything() -> None:
    broad = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in PRODUCT
        for node in nodes(file)
        if isinstance(node, ast.ExceptHandler)
        and node.type is not None
        and ast.unparse(node.type) == "Exception"
    ]
    allowed = (
        "runner/cli.py",  # the one door for errors
        "runner/run/regressions/trace.py",  # border to a repository that may hold anything
        "runner/run/workers.py",  # hands a worker's bug to the coordinator
        "runner/extensions/cluster/remote_worker.py",  # hands it on from another machine, as text
        "runner/extensions/cluster/channel.py",  # border to a worker, which may answer anything
        "runner/extensions/cluster/cluster.py",  # border to a scheduler, which raises anything
        "runner/secrets/detect_secrets.py",  # border of a foreign parser
        "runner/surface/public_names.py",  # border of a foreign parser
        "runner/writes/",  # borders of foreign parsers
        "runner/contracts/",  # borders of foreign validators, and of the project's own code
    )
    assert [place for place in broad if not place.startswith(allowed)] == []


def test_no_expression_looks_over_empty_lines_from_each_of_them() -> None:
    """`^\\s*` does, for the square of their number; `^[ \\t]*` does not."""
    blanks = re.compile(r"\^\\{1,2}s[*+]")
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in PRODUCT
        if blanks.search(file.read_text())
        for node in nodes(file)
        if isinstance(node, ast.Call | ast.Constant)
        and blanks.search(said := ast.unparse(node))
        and ("MULTILINE" in said if isinstance(node, ast.Call) else "(?m" in said)
    ]
    assert found == []


def test_no_module_is_named_after_nothing() -> None:
    vague = {"utils", "helpers", "common", "misc", "manager", "handler", "service", "data", "info"}
    assert [file for file in PRODUCT if file.stem in vague] == []


def test_rooms_are_not_too_full() -> None:
    full = {
        file.relative_to(ROOT).as_posix(): lines
        for file in PRODUCT
        if (lines := len(file.read_text().splitlines())) > 600
    }
    assert full == {}


def test_a_name_of_a_module_is_bound_once() -> None:
    """A second value would count for what was written for the first one, too."""
    twice = [
        f"{file.relative_to(ROOT).as_posix()}: {name}"
        for file in PRODUCT
        for name, count in Counter(
            target.id
            for node in parsed(file).body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ).items()
        if count > 1
    ]
    assert twice == []


def test_starting_up_imports_nothing_heavy() -> None:
    heavy = ["pydantic", "markdown_it", "networkx", "git", "bandit", "detect_secrets", "rich"]
    code = (
        "import sys; from runner.cli import main; main(['version']); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    import subprocess

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_no_modules_import_each_other() -> None:
    """Not even over others, in one room, in a function or for their types alone."""
    assert circles() == []


def test_every_module_can_be_the_first_that_is_imported() -> None:
    """Not even through the file of a package, which its modules bring along."""
    assert circles_at_start() == []


def speaks(file: Path) -> list[str]:
    """Where a module prints or reads a command line."""
    tree = parsed(file)
    calls = [node for node in nodes(file) if isinstance(node, ast.Call)]
    names = {"print", "input", "sys.stdout.write", "sys.stderr.write"}
    said = [f"{file.name}:{one.lineno}" for one in calls if ast.unparse(one.func) in names]
    imported = ast.unparse(tree)
    return said + [file.name] * ("import argparse" in imported)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "runner/app").rglob("*.py")), ids=lambda file: file.stem
)
def test_a_use_case_neither_prints_nor_parses(file: Path) -> None:
    assert speaks(file) == []


MOST_PACKAGES = 38
"""What a plain install brings along; with the package itself 39."""


def test_a_plain_install_brings_few_packages() -> None:
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    found, left = set(), [("task-graph-runner", "")]
    while left:
        name, extra = left.pop()
        for line in requires(name) or ():
            one = Requirement(line)
            needed = one.marker is None or one.marker.evaluate({"extra": extra})
            key = one.name.lower().replace("_", "-")
            if needed and key not in found:
                found.add(key)
                left += [(one.name, ""), *((one.name, each) for each in one.extras)]
    assert len(found) <= MOST_PACKAGES, sorted(found)
    assert not {"jsonschema", "schemathesis", "cryptography", "distributed"} & found


_MODULE_IN_TEXT = re.compile(r"\b(?:from|import) (runner(?:\.[a-z_]\w*)+)")


def test_programs_that_stand_in_texts_import_modules_that_there_are():
    """What a child is told to import no type checker reads: a module that moved is not found."""
    named = {
        (file.relative_to(ROOT).as_posix(), name)
        for file in PRODUCT
        if _MODULE_IN_TEXT.search(file.read_text())
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name in _MODULE_IN_TEXT.findall(node.value)
    }
    assert "runner.extensions.cluster.local_cluster" in {name for _, name in named}
    assert [one for one in sorted(named) if not is_module(one[1])] == []


def is_module(name: str) -> bool:
    """Whether there is a file or a folder of it."""
    place = ROOT / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()
