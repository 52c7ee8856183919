"""The module before every interpreter keeps its place whatever a line says of the path.

A proof without sandbox that imported the real tree proves nothing, and is found out.
"""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gates_bench import a_bench
from msgspec.structs import replace

from runner.gates import own_files, shim
from runner.gates.base import Check
from runner.process.base import Place
from runner.process.limits import Limits

FOLDER = Path("/box/shim")


@pytest.mark.parametrize(
    ("line", "executed"),
    [
        ("pytest", "pytest"),
        ("PYTHONPATH=src pytest", "PYTHONPATH=/box/shim:src pytest"),
        ("env A=1 PYTHONPATH='a b' pytest", "env A=1 PYTHONPATH=/box/shim:'a b' pytest"),
        ("cd x; export PYTHONPATH=$PWD; pytest", "cd x; export PYTHONPATH=/box/shim:$PWD; pytest"),
        ("PYTHONPATH= pytest", "PYTHONPATH=/box/shim pytest"),
        ('PYTHONPATH="" pytest', "PYTHONPATH=/box/shim pytest"),
        ("sh -c 'PYTHONPATH=src pytest'", "sh -c 'PYTHONPATH=/box/shim:src pytest'"),
        ("MYPYTHONPATH=src pytest", "MYPYTHONPATH=src pytest"),
        ("pytest --x=$PYTHONPATH", "pytest --x=$PYTHONPATH"),
    ],
)
def test_a_path_set_in_the_line_keeps_ours_in_front(line, executed):
    assert shim.in_front(line, FOLDER) == executed


def test_a_folder_with_blanks_is_quoted(tmp_path):
    folder = tmp_path / "a b"
    line = shim.in_front('PYTHONPATH=src sh -c "echo \\$PYTHONPATH"', folder)
    said = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert said.stdout == f"{folder}:src\n"


def test_the_path_holds_it_once():
    assert shim.search_path(FOLDER) == "/box/shim"
    assert shim.search_path(FOLDER, "/box/shim:/a::/b") == "/box/shim:/a:/b"


def test_it_is_laid_out_through_no_link(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    box = tmp_path / "box"
    box.mkdir()
    (box / "shim").symlink_to(elsewhere)
    folder = shim.write_module(Place(tree=tmp_path, shown=tmp_path, box=box))
    assert list(elsewhere.iterdir()) == []
    assert (folder / "sitecustomize.py").is_file()
    (folder / "sitecustomize.py").unlink()
    (folder / "sitecustomize.py").symlink_to(elsewhere / "x.py")
    assert not (shim.write_module(Place(tmp_path, tmp_path, box)) / "sitecustomize.py").is_symlink()
    assert list(elsewhere.iterdir()) == []


def test_no_interpreter_compiles_it_anew(tmp_path):
    (tmp_path / "box").mkdir()
    place = Place(tree=tmp_path, shown=tmp_path, box=tmp_path / "box")
    folder = shim.write_module(place)
    (compiled,) = (folder / "__pycache__").glob("sitecustomize.*")
    first = compiled.stat().st_mtime_ns
    words = [sys.executable, "-v", "-c", "pass"]
    said = subprocess.run(words, env={"PYTHONPATH": str(folder)}, capture_output=True, check=True)
    assert f"# code object from '{compiled}'" in said.stderr.decode()
    shim.write_module(place)
    assert compiled.stat().st_mtime_ns == first


def test_byte_code_that_a_command_left_does_not_run(tmp_path):
    (tmp_path / "box").mkdir()
    place = Place(tree=tmp_path, shown=tmp_path, box=tmp_path / "box")
    folder = shim.write_module(place)
    bad = tmp_path / "bad.py"
    bad.write_text("import os; os._exit(9)")
    (ours,) = (folder / "__pycache__").glob("sitecustomize.*")
    py_compile.compile(bad, ours, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    other = ours.with_name(ours.name.replace(".pyc", ".opt-1.pyc"))
    other.write_bytes(ours.read_bytes())
    ours.with_name("more").mkdir()
    words = [sys.executable, "-c", "pass"]
    environment = {"PYTHONPATH": str(folder)}
    assert subprocess.run(words, env=environment, check=False).returncode == 9
    shim.write_module(place)
    for more in ([], ["-O"]):
        line = [words[0], *more, *words[1:]]
        assert subprocess.run(line, env=environment, check=False).returncode == 0
    assert not ours.with_name("more").exists()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(folder / "__pycache__")
    (folder / "__pycache__").symlink_to(elsewhere)
    shim.write_module(place)
    assert list(elsewhere.iterdir()) == []


def prove(folder, command, *, shares=(), start_files=None):
    """Run a command as a check does, with the watch in place."""
    context = a_bench(folder, shares=shares)
    for path, text in {"real/shop.py": "X = 1\n", **(start_files or {})}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    watched = {**context.environment, **shim.watch_environment(context.place, context.sandbox, {})}
    context = replace(context, environment=watched)
    check = Check(id="TC-001", kind="test", command=command, limits=Limits(9, 9, 9))
    ran = context.run(check)
    return ran, shim.findings(context)


def on_path(folder):
    return f"import sys; sys.path.append({str(folder / 'real')!r}); import shop"


def test_the_installed_copy_is_found_out(tmp_path):
    ran, (finding,) = prove(tmp_path, f'python3 -c "{on_path(tmp_path)}"')
    assert ran.passed
    assert finding.refuses
    assert finding.message == (
        "the tests imported the installed copy of shop.py, not the proposed code"
    )
    assert "bubblewrap" in finding.hint


def test_the_proposed_code_is_fine(tmp_path):
    files = {"tree/shop.py": "X = 2\n"}
    ran, found = prove(tmp_path, f'python3 -c "{on_path(tmp_path)}"', start_files=files)
    assert ran.passed
    assert found == ()


def test_what_is_installed_in_a_shared_environment_is_fine(tmp_path):
    files = {"real/.venv/lib/dep.py": "Y = 1\n"}
    line = f"import sys; sys.path.append({str(tmp_path / 'real/.venv/lib')!r}); import dep"
    ran, found = prove(tmp_path, f'python3 -c "{line}"', shares=(".venv",), start_files=files)
    assert ran.passed
    assert found == ()


FINDER = """
import sys
from importlib.util import spec_from_file_location


class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "shop":
            folder = {folder!r}
            file = folder + "/__init__.py"
            return spec_from_file_location(name, file, submodule_search_locations=[folder])


sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize(
    "installed",
    [
        {"a.pth": "{real}/src\n"},
        {"a.pth": "import _editable\n", "_editable.py": FINDER},
        {"shop": "-> {real}/src/shop"},
        {"a.pth": "{real}/src\n", "more.pth": "{real}/other\n"},
    ],
    ids=["path", "finder", "link", "namespace"],
)
def test_an_editable_install_is_the_proposed_code(tmp_path, installed):
    namespace = "more.pth" in installed
    files = {} if namespace else {"src/shop/__init__.py": ""}
    for top, text in (("real", "X = 1\n"), ("tree", "X = 2\n")):
        for path, content in {**files, "src/shop/price.py": text}.items():
            file = tmp_path / top / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
    environment = tmp_path / "environment"
    words = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
    subprocess.run(words, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    for name, text in installed.items():
        real = tmp_path / "real"
        if text.startswith("-> "):
            (packages / name).symlink_to(text[3:].format(real=real))
        elif text is FINDER:
            (packages / name).write_text(text.replace("{folder!r}", repr(f"{real}/src/shop")))
        else:
            (packages / name).write_text(text.format(real=real))
    ran, found = prove(
        tmp_path, f"{environment}/bin/python -c 'import shop.price; print(shop.price.X)'"
    )
    assert (ran.tail.strip(), found) == ("2", ())


def test_what_a_test_adds_itself_is_found_out(tmp_path):
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "a.pth").write_text(f"{tmp_path / 'real'}\n")
    line = f"import site; site.addsitedir({str(tmp_path / 'site-packages')!r}); import shop"
    ran, found = prove(tmp_path, f'python3 -c "{line}"')
    assert ran.passed
    assert len(found) == 1


NODE = {
    "require": "require('{real}/shop.js')",
    "import": "import('{real}/shop.js')",
    "JSON": "require('{real}/shop.json')",
    "a context": "require('vm').runInNewContext('1 + 1', {{}}, '{real}/shop.js')",
    "a worker": "new (require('worker_threads').Worker)('{real}/shop.js')",
    "a child": "require('child_process').execFileSync('node', ['{real}/shop.js'])",
}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("way", NODE)
def test_what_node_loads_of_the_repository_is_found_out(tmp_path, way):
    files = {"real/shop.js": "", "real/shop.json": "{}", "real/node_modules/other/index.js": ""}
    text = NODE[way].format(real=tmp_path / "real")
    (tmp_path / "run.js").write_text(text)
    ran, found = prove(tmp_path, f"node {tmp_path}/run.js", start_files=files)
    assert ran.passed, ran.tail
    name = "shop.json" if way == "JSON" else "shop.js"
    said = f"the tests imported the installed copy of {name}, not the proposed code"
    assert [one.message for one in found] == [said]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_package_that_node_loads_is_no_file_of_the_repository(tmp_path):
    files = {"real/node_modules/other/index.js": "debugger; console.log('here');\n"}
    line = f"require('{tmp_path}/real/node_modules/other')"
    ran, found = prove(tmp_path, f'node -e "{line}"', shares=("node_modules",), start_files=files)
    assert (ran.tail.strip(), found) == ("here", ())


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(("proposed", "is_old"), [("1", False), ("2", True)])
@pytest.mark.parametrize("manager", ["yarn", "pnpm"])
def test_an_installed_copy_that_is_not_the_proposed_code_is_found_out(
    tmp_path, manager, proposed, is_old
):
    inside = ".pnpm/core@file+core/node_modules/core" if manager == "pnpm" else "core"
    files = {
        "real/package.json": '{"dependencies": {"core": "file:./core"}}',
        "real/core/index.js": "module.exports = 1;",
        f"real/node_modules/{inside}/index.js": "module.exports = 1;",
        f"real/node_modules/{inside}/made.js": "",
        "tree/core/index.js": f"module.exports = {proposed};",
    }
    if manager == "pnpm":
        (tmp_path / "real/node_modules").mkdir(parents=True)
        (tmp_path / "real/node_modules/core").symlink_to(inside)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/node_modules").symlink_to(tmp_path / "real/node_modules")
    line = "require('core'); require('core/made.js')"
    ran, found = prove(tmp_path, f'node -e "{line}"', shares=("node_modules",), start_files=files)
    assert ran.passed, ran.tail
    said = f"the tests imported the installed copy of node_modules/{inside}/index.js,"
    assert [one.message.startswith(said) for one in found] == [True] * is_old


@pytest.mark.parametrize(("proposed", "is_old"), [("X = 1", False), ("X = 2", True)])
def test_an_installed_copy_of_python_is_found_out_too(tmp_path, proposed, is_old):
    packages = f"real/.venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    url = f'{{"url": "file://{tmp_path}/real/libs/price", "dir_info": {{}}}}'
    files = {
        "real/libs/price/src/price/__init__.py": "X = 1",
        "tree/libs/price/src/price/__init__.py": proposed,
        f"{packages}/price/__init__.py": "X = 1",
        f"{packages}/price-1.dist-info/direct_url.json": url,
        f"{packages}/price-1.dist-info/RECORD": "price/__init__.py,,\nprice-1.dist-info/RECORD,,\n",
    }
    line = f"import sys; sys.path.append('{tmp_path}/{packages}'); import price"
    ran, found = prove(tmp_path, f'python3 -c "{line}"', shares=(".venv",), start_files=files)
    assert ran.passed, ran.tail
    assert len(found) == is_old
    if is_old:
        assert "the installed copy of .venv/lib/" in found[0].message


def test_a_child_of_the_test_is_watched_too_and_one_that_fails(tmp_path):
    inner = on_path(tmp_path)
    line = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    script = tmp_path / "outer.py"
    script.write_text(line + "\nraise SystemExit(1)\n")
    ran, found = prove(tmp_path, f"python3 {script}")
    assert ran.exit == 1
    assert len(found) == 1


def test_the_persons_own_sitecustomize_still_runs(tmp_path):
    files = {"tree/sitecustomize.py": "import builtins; builtins.HELLO = 'yes'\n"}
    ran, _ = prove(
        tmp_path, 'PYTHONPATH="$PYTHONPATH:." python3 -c "print(HELLO)"', start_files=files
    )
    assert ran.tail.strip() == "yes", ran.tail


def test_nothing_is_left_from_the_check_before(tmp_path):
    assert prove(tmp_path, f'python3 -c "{on_path(tmp_path)}"')[1]
    assert prove(tmp_path, "true")[1] == ()


TEXT, OTHER = b"print('ours')\n", b"print('evil')\n"


def overwrite(file):
    before = file.stat()
    file.write_bytes(OTHER)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_file(file):
    beside = file.with_suffix(".new")
    beside.write_bytes(OTHER)
    os.utime(beside, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    beside.replace(file)


def link(file):
    beside = file.with_suffix(".new")
    beside.write_bytes(TEXT)
    file.unlink()
    file.symlink_to(beside)


@pytest.mark.parametrize("change", [overwrite, replace_file, link, Path.unlink])
def test_what_a_command_did_to_a_file_is_put_right(tmp_path, change):
    file = tmp_path / "hook.py"
    own_files.put(file, TEXT)
    own_files.put(file, TEXT)
    change(file)
    own_files.put(file, TEXT)
    assert file.read_bytes() == TEXT
    assert not file.is_symlink()


def test_a_program_that_can_no_longer_be_started_is_put_right(tmp_path):
    file = tmp_path / "go"
    own_files.put(file, TEXT, mode=0o755)
    time.sleep(0.05)
    own_files.put(file, TEXT, mode=0o755)
    file.chmod(0o644)
    own_files.put(file, TEXT, mode=0o755)
    assert os.access(file, os.X_OK)


def test_an_empty_folder_is_kept_and_one_in_which_nothing_can_be_written_is_not(tmp_path):
    folder = own_files.make_empty(tmp_path / "reports")
    number = folder.stat().st_ino
    assert own_files.make_empty(folder).stat().st_ino == number
    (folder / "below").mkdir()
    (folder / "below" / "a.xml").write_bytes(b"")
    assert list(own_files.make_empty(folder).iterdir()) == []
    folder.chmod(0o555)
    assert own_files.make_empty(folder).stat().st_mode & 0o700 == 0o700


def test_a_folder_is_made_through_no_link(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "reports").symlink_to(elsewhere)
    folder = own_files.own_folder(tmp_path, "reports", "TC-1")
    assert folder.is_dir()
    assert list(elsewhere.iterdir()) == []
    (folder / "bin").write_bytes(b"")
    assert own_files.own_folder(folder, "bin").is_dir()
    (tmp_path / "link").symlink_to(elsewhere)
    own_files.make_empty(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    own_files.remove(tmp_path / "missing")
