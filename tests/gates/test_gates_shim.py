"""The module before every interpreter keeps its place whatever a line says of the path."""

import subprocess
from pathlib import Path

import pytest

from runner.gates import shim
from runner.process.base import Place

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
