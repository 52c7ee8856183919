import sqlite3

from context_build import Files

from runner.context.files import FOLDER, Neighbours, outlines_of
from runner.impact.store import FILE

COUNT = 80


def many():
    texts = {f"src/m{n}.py": f"import m{n + 1}\ndef f{n}(): ...\n" for n in range(COUNT)}
    return Files(**texts)


def asked(files, cache):
    """What is known of m3, and which files were read for it."""
    files.read.clear()
    tree = files.tree()
    with outlines_of(tree, cache) as outlines:
        found = dict(outlines.by_path)
        importers = Neighbours(tree, outlines).importers("src/m3.py")
    return found, importers, list(files.read)


def test_a_second_look_reads_no_file_and_says_the_same(tmp_path):
    files = many()
    found, importers, read = asked(files, tmp_path)
    assert (len(found), importers, len(set(read))) == (COUNT, ("src/m2.py",), COUNT)
    assert asked(files, tmp_path) == (found, importers, [])


def test_a_name_that_is_no_utf_8_is_remembered_as_any_other(tmp_path):
    files = many()
    files.texts["src/caf\udce9.py"] = "import m3\ndef g(): ...\n"
    found, importers, _ = asked(files, tmp_path)
    assert importers == ("src/caf\udce9.py", "src/m2.py")
    assert asked(files, tmp_path) == (found, importers, [])


def test_only_what_changed_is_read_again(tmp_path):
    files = many()
    asked(files, tmp_path)
    files.texts["src/m7.py"] = "import m3\ndef g(): ...\n"
    del files.texts["src/m9.py"]
    found, importers, read = asked(files, tmp_path)
    assert found["src/m7.py"].names == "g"
    assert "src/m9.py" not in found
    assert importers == ("src/m2.py", "src/m7.py")
    assert set(read) == {"src/m7.py"}


def test_a_small_tree_needs_no_cache_and_leaves_none(tmp_path):
    files = Files(**{"a.py": "def f(): ...\n"})
    assert list(asked(files, tmp_path)[0]) == ["a.py"]
    assert not (tmp_path / FOLDER).exists()


def test_a_damaged_cache_is_as_good_as_none(tmp_path):
    files = many()
    found, importers, _ = asked(files, tmp_path)
    (tmp_path / FOLDER / FILE).write_bytes(b"no database at all" * 100)
    for suffix in ("-wal", "-shm"):
        (tmp_path / FOLDER / f"{FILE}{suffix}").unlink(missing_ok=True)
    assert asked(files, tmp_path)[:2] == (found, importers)
    assert asked(files, tmp_path) == (found, importers, [])


def test_a_cache_of_another_shape_is_not_believed(tmp_path):
    files = many()
    asked(files, tmp_path)
    with sqlite3.connect(tmp_path / FOLDER / FILE) as database:
        database.execute("update outlines set blob = 'x', names = 'lie'")
    database.close()
    assert asked(files, tmp_path)[0]["src/m3.py"].names == "f3"
