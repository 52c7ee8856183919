"""What the pages for newcomers name is there: files, functions, commands."""

import ast
import importlib.util
import re
import runpy
from pathlib import Path

import pytest

from runner.errors import ExitCode
from runner.model import Reason

ROOT = Path(__file__).parent.parent
PAGES = (
    "CONTRIBUTING.md",
    "docs/follow-one-task.md",
    "docs/languages.md",
    "docs/rooms.md",
    "ARCHITECTURE.md",
)
NAMED = re.compile(r"`(?P<file>runner/[\w/]+\.py)`: `(?P<name>[\w.]+)`")
PLACE = re.compile(r"`((?:runner|tests|docs|benchmarks|scripts|examples)/[\w./-]*)`")
TARGET = re.compile(r"`make ([a-z-]+)`|^make ([a-z-]+)", re.MULTILINE)


def text(page):
    return (ROOT / page).read_text()


def names(file):
    """What a module defines or imports under a name: `Lander`, `Lander.land`, `main`."""
    found = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, ast.FunctionDef))
            found |= {f"{node.name}.{one.name}" for one in inner}
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_file_and_folder_that_a_page_names_is_there(page):
    assert [place for place in PLACE.findall(text(page)) if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_function_and_class_that_a_page_names_stands_in_its_file(page):
    named = NAMED.findall(text(page))
    assert [f"{file}: {name}" for file, name in named if name not in names(file)] == []
    assert page != "docs/follow-one-task.md" or len(named) > 30


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_every_target_of_make_that_a_page_names_can_be_made(page):
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    asked = {one or other for one, other in TARGET.findall(text(page))}
    assert asked - targets == set()


def test_pages_stay_as_short_as_a_newcomer_reads():
    assert len(text("CONTRIBUTING.md").splitlines()) <= 120
    assert len(text("docs/follow-one-task.md").splitlines()) <= 45


# --- the pages for users --------------------------------------------------------------

GUIDES = (
    "README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
)
UNLISTED = ("docs/cluster/", "docs/figures/")
"""Pages that another page leads to."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")


def anchors(page):
    """The places of a page that a link may name, as GitHub spells them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", GUIDES)
def test_no_link_of_a_page_is_dead(page):
    here = (ROOT / page).parent
    for path, anchor in LINK.findall(text(page)):
        target = (here / path) if path else ROOT / page
        assert target.exists(), f"{page}: {path}"
        assert not anchor or anchor in anchors(target), f"{page}: {path}#{anchor}"


def test_the_readme_leads_to_every_page_for_users():
    linked = {path for path, _ in LINK.findall(text("README.md"))}
    folders = ("docs/start/", "docs/guides/", "docs/reference/", "docs/explanation/")
    assert {page for page in GUIDES if page.startswith(folders)} - linked == set()


def test_the_site_leads_to_every_page_once():
    shown = runpy.run_path(str(ROOT / "docs/site/conf.py"))["CONTENTS"]
    pages = [page for pages in shown.values() for page in pages.split()]
    listed = [page for page in GUIDES[1:] if not page.startswith(UNLISTED)]
    assert sorted(f"docs/{page}.md" for page in pages) == sorted(listed)


def test_the_prose_of_the_documents_keeps_its_bounds():
    words = load("words")
    prose = words.measure([page.read_text() for page in words.pages()])
    assert prose.words <= words.WORDS
    assert prose.average <= words.AVERAGE
    assert prose.long <= words.LONG_SHARE
    assert [name for name, most in words.LINES.items() if len(text(name).splitlines()) > most] == []


@pytest.mark.parametrize(
    ("prose", "sentences"),
    [
        ("One. Two `a b. C` three.\nfour", ["One.", "Two `code` three. four"]),
        ("- item one\n  goes on\n- item two", ["item one goes on", "item two"]),
        ("| a b | c |\n|---|---|\n| d | e. F |", ["a b ", " c", "d ", " e.", "F"]),
        ("```sh\nnot counted\n```\n# Head\n[link](x.md)", ["Head", "link"]),
    ],
)
def test_list_items_and_cells_count_as_sentences(prose, sentences):
    found = [one.strip() for one in load("words").sentences(prose)]
    assert found == [one.strip() for one in sentences]


def test_every_reason_and_exit_code_has_its_place_in_the_reference():
    found = anchors(ROOT / "docs/reference/messages.md")
    assert {str(reason) for reason in Reason} <= found
    assert {f"exit-{int(code)}" for code in ExitCode} <= found


def load(name):
    """Return a module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tests/{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_reference_is_what_the_code_makes():
    reference = load("reference")
    for page, made in reference.pages().items():
        # The module index changes with every module; `make site` writes it anew.
        assert page.parent != reference.FOLDER or page.read_text() == made, (
            "make reference writes it"
        )
