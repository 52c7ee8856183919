import pytest
from context_build import a_tree

from runner.context.files import Neighbours, around, outlines_of


def asked(texts):
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
    python = asked(PYTHON)
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
    assert asked(texts).importers("src/booking/rooms.py") == ("tests/test_new.py",)


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
    found = asked(texts)
    assert (found.files_imported_by(path), found.importers(path)) == (imports, importers)


def test_around_some_files_stand_what_they_import_and_their_users_in_the_order_asked_for():
    python = asked(PYTHON)
    seeds = ("src/booking/store.py",)
    imports = ("src/booking/__init__.py", "src/booking/models.py")
    users = ("src/booking/api.py", "tests/test_store.py")
    assert around(python, seeds, users_first=False) == (*imports, *users)
    assert around(python, seeds, users_first=True) == (*users, *imports)
