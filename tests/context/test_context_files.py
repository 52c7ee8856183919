"""Context files: outlines and their cache, import neighbours, and the choice within a budget."""

import sqlite3

import pytest
from context_build import Files, a_task, a_tree

from runner.context.files import (
    EMPTY,
    FOLDER,
    FileOutline,
    FileQuery,
    Neighbours,
    around,
    candidates,
    context_files,
    outline_of,
    outlines_of,
)
from runner.context.gather import MOST_TOKENS, file_index
from runner.context.tree import CHARACTERS_A_TOKEN
from runner.impact.store import FILE
from runner.languages.registry import is_source
from runner.plan.task_types import WorkType, classify

TEXTS = {
    "src/booking/__init__.py": "",
    "src/booking/models.py": "class Booking: ...\n",
    "src/booking/store.py": "from booking.models import Booking\n",
    "src/booking/clock.py": "import time\n",
    "src/far/away/deep.py": "x = 1\n",
    "examples/locking.py": "version = 1\n",
    "docs/rules.md": "# Rules\n",
    "tests/test_store.py": "from booking import store\n",
    "web/app.ts": "export const app = 1;\n",
}


def chosen(task, *, tokens=8000, texts=TEXTS, allow=(), kind=None, **wanted):
    tree = a_tree(texts, allow)
    asked = FileQuery(task, kind or WorkType(), **wanted)
    with outlines_of(tree, None) as outlines:
        return context_files(tree, Neighbours(tree, outlines), asked, tokens)


def named(files):
    return [(one.path, one.because) for one in files]


def test_with_a_plan_its_files_come_first_then_their_neighbours_then_examples_of_patterns():
    files = chosen(
        a_task(outputs=("src/**",)),
        planned=("src/booking/store.py", "docs/rules.md", "src/booking/new.py"),
        examples=("examples/locking.py",),
    )
    assert named(files) == [
        ("src/booking/store.py", "plan"),
        ("docs/rules.md", "plan"),
        ("src/booking/models.py", "neighbour"),
        ("tests/test_store.py", "neighbour"),
        ("examples/locking.py", "pattern"),
    ]


def test_without_a_plan_come_the_inputs_the_outputs_their_neighbours_and_the_nearest_of_a_kind():
    task = a_task(outputs=("src/booking/store.py", "src/booking/new.py"), inputs=("docs/*.md",))
    assert named(chosen(task)) == [
        ("docs/rules.md", "task"),
        ("src/booking/store.py", "task"),
        ("src/booking/models.py", "neighbour"),
        ("tests/test_store.py", "neighbour"),
        ("src/booking/clock.py", "kind"),
        ("examples/locking.py", "kind"),
        ("src/far/away/deep.py", "kind"),
    ]


def test_the_budget_is_kept_and_a_smaller_file_takes_the_place_of_one_that_does_not_fit():
    texts = {
        "src/a.py": "import b\nimport c\n" + "a = 1\n" * 100,
        "src/b.py": "b = 1\n" * 1000,
        "src/c.py": "c = 1\n" * 20,
    }
    files = chosen(a_task(outputs=("src/a.py",)), tokens=500, texts=texts)
    assert [one.path for one in files] == ["src/a.py", "src/c.py"]
    assert sum(len(one.text) for one in files) <= 500 * CHARACTERS_A_TOKEN


def test_of_a_file_of_the_task_itself_at_least_the_beginning_is_shown():
    texts = {"src/a.py": "a = 1\n" * 3000}
    (one,) = chosen(a_task(outputs=("src/a.py",)), tokens=500, texts=texts)
    assert one.is_cut
    assert 1500 < len(one.text) <= 2000
    assert set(one.text.split("\n")) == {"a = 1"}


def test_what_may_not_be_read_is_not_among_them():
    task = a_task(outputs=("src/booking/store.py",), inputs=(".env", "docs/rules.md"))
    texts = {**TEXTS, ".env": "KEY=1\n", "src/booking/id_rsa": "x\n"}
    paths = [one.path for one in chosen(task, texts=texts, allow=(("src/booking/**",),))]
    assert paths == ["src/booking/store.py", "src/booking/models.py", "src/booking/clock.py"]


def test_files_that_the_brief_shows_anyway_are_not_shown_twice():
    task = a_task(outputs=("src/booking/store.py",))
    files = chosen(task, shown=frozenset({"tests/test_store.py"}))
    assert "tests/test_store.py" not in [one.path for one in files]


def test_the_type_of_a_task_says_which_of_equally_near_files_come_first():
    task = a_task(title="Rename the store", outputs=("src/booking/store.py",))
    kind = classify(task)
    near = [path for path, why in named(chosen(task, kind=kind)) if why == "neighbour"]
    assert near == ["tests/test_store.py", "src/booking/models.py"]


def test_a_task_that_may_write_anything_is_shown_what_it_names_alone():
    task = a_task(outputs=("any",), inputs=("web/app.ts",))
    assert named(chosen(task)) == [("web/app.ts", "task")]


def test_the_plan_patterns_and_skills_are_no_files_of_a_kind():
    texts = dict.fromkeys(("TASK-GRAPH.md", "patterns/PATTERN-001.md", "docs/a.md"), "x\n")
    texts["skills/web/SKILL.md"] = "x\n"
    assert named(chosen(a_task(outputs=("NEW.md",)), texts=texts)) == [("docs/a.md", "kind")]


def test_every_candidate_comes_once():
    tree = a_tree(TEXTS)
    task = a_task(outputs=("src/booking/*.py",), inputs=("src/booking/store.py",))
    with outlines_of(tree, None) as outlines:
        asked = FileQuery(task, WorkType())
        paths = [path for path, _ in candidates(tree, Neighbours(tree, outlines), asked)]
    assert len(paths) == len(set(paths))


MODULE = b"""import os
from booking.models import (
    Booking,
    Guest,
)

LIMIT: int = 3
_hidden = 1

@dataclass
class Store:
    def add(self): ...

async def load(path): ...
def _private(): ...
"""
TYPESCRIPT = b"""import { api } from '../lib/api';
import type { Booking } from "./booking";
export interface Props { a: string }
export default async function Form() {}
export const total = 1;
export { helper as assist, Other };
const hidden = 2;
"""
GO = b"""package store

import (
\t"fmt"
\t"example.org/booking/models"
)

type Store struct{}

func (s *Store) Add() {}
func New() *Store { return nil }
func hidden() {}
"""
RUST = b"""use crate::models::Booking;
mod disk;

pub struct Store;
impl Store {
    pub async fn add(&self) {}
    fn hidden(&self) {}
}
pub(crate) const LIMIT: u32 = 3;
"""


@pytest.mark.parametrize(
    ("path", "content", "names", "mentions"),
    [
        ("a.py", MODULE, "LIMIT Store load", {"os", "booking", "models", "Booking", "Guest"}),
        ("a.ts", TYPESCRIPT, "Props Form total assist Other", {"lib", "api", "booking"}),
        ("a.go", GO, "Store Add New", {"fmt", "booking", "models"}),
        ("a.rs", RUST, "Store add LIMIT", {"crate", "models", "Booking", "disk"}),
        ("a.js", b"module.exports = { one, two: 2 };\n", "one two", set()),
        ("a.cjs", b"exports.one = 1;\nconst x = require('./store');\n", "one", {"store"}),
    ],
)
def test_a_file_offers_its_exported_names_and_its_imports_are_remembered(
    path, content, names, mentions
):
    found = outline_of(path, content)
    assert found.names == names
    assert mentions <= set(found.mentions.split())
    assert found.lines == content.count(b"\n")


def test_what_is_broken_is_still_read_and_other_languages_are_not():
    assert outline_of("a.py", b"def f(:\n  class\nclass Ok: pass").names == "f Ok"
    assert outline_of("a.py", b"one line").lines == 1
    assert outline_of("a.md", b"# def f()\n") == EMPTY
    assert outline_of("a.py", b"x = 1\n" * 300_000) == EMPTY
    assert [is_source(path) for path in ("a.py", "a.tsx", "a.go", "a.rs", "a.md")] == [
        *([True] * 4),
        False,
    ]


COUNT = 80


def many():
    texts = {f"src/m{n}.py": f"import m{n + 1}\ndef f{n}(): ...\n" for n in range(COUNT)}
    return Files(**texts)


def loaded(files, cache):
    """What is known of m3, and which files were read for it."""
    files.read.clear()
    tree = files.tree()
    with outlines_of(tree, cache) as outlines:
        found = dict(outlines.by_path)
        importers = Neighbours(tree, outlines).importers("src/m3.py")
    return found, importers, list(files.read)


def test_a_second_look_reads_no_file_and_says_the_same(tmp_path):
    files = many()
    found, importers, read = loaded(files, tmp_path)
    assert (len(found), importers, len(set(read))) == (COUNT, ("src/m2.py",), COUNT)
    assert loaded(files, tmp_path) == (found, importers, [])


def test_a_name_that_is_no_utf_8_is_remembered_as_any_other(tmp_path):
    files = many()
    files.texts["src/caf\udce9.py"] = "import m3\ndef g(): ...\n"
    found, importers, _ = loaded(files, tmp_path)
    assert importers == ("src/caf\udce9.py", "src/m2.py")
    assert loaded(files, tmp_path) == (found, importers, [])


def test_only_what_changed_is_read_again(tmp_path):
    files = many()
    loaded(files, tmp_path)
    files.texts["src/m7.py"] = "import m3\ndef g(): ...\n"
    del files.texts["src/m9.py"]
    found, importers, read = loaded(files, tmp_path)
    assert found["src/m7.py"].names == "g"
    assert "src/m9.py" not in found
    assert importers == ("src/m2.py", "src/m7.py")
    assert set(read) == {"src/m7.py"}


def test_a_small_tree_needs_no_cache_and_leaves_none(tmp_path):
    files = Files(**{"a.py": "def f(): ...\n"})
    assert list(loaded(files, tmp_path)[0]) == ["a.py"]
    assert not (tmp_path / FOLDER).exists()


def test_a_damaged_cache_is_as_good_as_none(tmp_path):
    files = many()
    found, importers, _ = loaded(files, tmp_path)
    (tmp_path / FOLDER / FILE).write_bytes(b"no database at all" * 100)
    for suffix in ("-wal", "-shm"):
        (tmp_path / FOLDER / f"{FILE}{suffix}").unlink(missing_ok=True)
    assert loaded(files, tmp_path)[:2] == (found, importers)
    assert loaded(files, tmp_path) == (found, importers, [])


def test_a_cache_of_another_shape_is_not_believed(tmp_path):
    files = many()
    loaded(files, tmp_path)
    with sqlite3.connect(tmp_path / FOLDER / FILE) as database:
        database.execute("update outlines set blob = 'x', names = 'lie'")
    database.close()
    assert loaded(files, tmp_path)[0]["src/m3.py"].names == "f3"


def neighbours_of(texts):
    tree = a_tree(texts)
    with outlines_of(tree, None) as outlines:
        return Neighbours(tree, outlines)


PYTHON = {
    "src/booking/__init__.py": "",
    "src/booking/models.py": "class Booking: ...\n",
    "src/booking/store.py": "from booking.models import Booking\n",
    "src/booking/api.py": "from . import store\nfrom .models import Booking\n",
    "src/other/models.py": "class Other: ...\n",
    "src/other/__init__.py": "",
    "src/other/use.py": "from other import models\n",
    "tests/test_store.py": "from booking import store\n",
}


def test_a_python_file_imports_and_is_imported_by_dotted_names_and_by_places():
    python = neighbours_of(PYTHON)
    assert set(python.files_imported_by("src/booking/api.py")) == {
        "src/booking/__init__.py",
        "src/booking/models.py",
        "src/booking/store.py",
    }
    assert python.importers("src/booking/models.py") == (
        "src/booking/api.py",
        "src/booking/store.py",
    )
    assert python.importers("src/other/models.py") == ("src/other/use.py",)


def test_a_file_that_is_still_to_be_made_has_importers_already():
    texts = {**PYTHON, "tests/test_new.py": "from booking.rooms import Room\n"}
    assert neighbours_of(texts).importers("src/booking/rooms.py") == ("tests/test_new.py",)


@pytest.mark.parametrize(
    ("texts", "path", "imports", "importers"),
    [
        (
            {
                "web/api.ts": "export const api = 1;\n",
                "web/form/index.tsx": "import { api } from '../api';\n",
                "web/app.tsx": "import Form from './form';\n",
            },
            "web/form/index.tsx",
            ("web/api.ts",),
            ("web/app.tsx",),
        ),
        (
            {
                "go.mod": "module example.org/b\n",
                "models/booking.go": "package models\n",
                "store/store.go": 'package store\n\nimport "example.org/b/models"\n',
                "main.go": 'package main\n\nimport "example.org/b/store"\n',
            },
            "store/store.go",
            ("models/booking.go",),
            ("main.go",),
        ),
        (
            {
                "src/main.rs": "mod store;\n",
                "src/store.rs": "use crate::models::Booking;\n",
                "src/models.rs": "pub struct Booking;\n",
            },
            "src/store.rs",
            ("src/models.rs",),
            ("src/main.rs",),
        ),
    ],
)
def test_other_languages_have_neighbours_too(texts, path, imports, importers):
    found = neighbours_of(texts)
    assert (found.files_imported_by(path), found.importers(path)) == (imports, importers)


def test_around_some_files_stand_what_they_import_and_their_users_in_the_order_asked_for():
    python = neighbours_of(PYTHON)
    seeds = ("src/booking/store.py",)
    imports = ("src/booking/__init__.py", "src/booking/models.py")
    users = ("src/booking/api.py", "tests/test_store.py")
    assert around(python, seeds, users_first=False) == (*imports, *users)
    assert around(python, seeds, users_first=True) == (*users, *imports)


def outlines(*paths, names=""):
    return {path: FileOutline(names, 10, "") for path in paths}


def test_a_line_has_path_names_and_length_and_the_lines_stand_in_order_of_the_paths():
    found = {
        "src/b.py": FileOutline("Booking add", 12, ""),
        "src/a.py": FileOutline(" ".join(f"f{n}" for n in range(12)), 3, ""),
    }
    assert file_index(found, a_task()) == (
        "src/a.py | f0, f1, f2, f3, f4, f5, f6, f7, … | 3",
        "src/b.py | Booking, add | 12",
    )


def test_a_medium_project_takes_no_more_than_800_tokens_and_its_relevant_files_are_in():
    paths = [f"src/package{n}/module{m}.py" for n in range(40) for m in range(20)]
    found = outlines(*paths, names="load save") | outlines("src/package7/reservations.py")
    lines = file_index(found, a_task(title="Cancel reservations"), seeds=("src/package9/new.py",))
    assert MOST_TOKENS * 0.8 < len("\n".join(lines)) / CHARACTERS_A_TOKEN <= MOST_TOKENS
    assert any(line.startswith("src/package7/reservations.py") for line in lines)
    assert sum(line.startswith("src/package9/") for line in lines) == 20


def test_names_speak_for_a_file_as_its_path_does_and_neighbours_before_strangers():
    found = outlines(*(f"a{n}.py" for n in range(200)))
    found["z1.py"] = FileOutline("RefundPolicy", 1, "")
    found["z2.py"] = FileOutline("", 1, "")
    lines = file_index(found, a_task(title="Refunds after 24 hours"), near=("z2.py",), tokens=20)
    assert [line for line in lines if line.startswith("z")] == [
        "z1.py | RefundPolicy | 1",
        "z2.py |  | 1",
    ]


def test_of_no_files_there_is_no_index():
    assert file_index({}, a_task()) == ()
