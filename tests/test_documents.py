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
PRIVATE_WORDS = 40


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


def test_the_glossary_explains_each_private_word_once_in_alphabetical_order():
    glossary = text("ARCHITECTURE.md").partition("## Words that stay ours")[2].partition("\n## ")[0]
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", glossary, re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)
    assert len(words) >= PRIVATE_WORDS


# --- the pages for users --------------------------------------------------------------

GUIDES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
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


def test_the_readme_is_read_in_a_minute_and_leads_to_every_page():
    assert len(text("README.md").splitlines()) <= 120
    told = {path for path, _ in LINK.findall(text("README.md"))}
    own = {
        "docs/languages.md",
        "docs/listeners.md",
        "docs/follow-one-task.md",
        "docs/rooms.md",
    }  # for developers
    assert {page for page in GUIDES if page.startswith("docs/")} - told - own == set()


def test_the_site_leads_to_every_page_once():
    shown = runpy.run_path(str(ROOT / "docs/site/conf.py"))["CONTENTS"]
    pages = [page for pages in shown.values() for page in pages.split()]
    assert sorted(f"docs/{page}.md" for page in pages) == sorted(GUIDES[1:])


def test_every_reason_and_exit_code_has_its_place_in_when_it_stops():
    found = anchors(ROOT / "docs/when-it-stops.md")
    assert {str(reason) for reason in Reason} <= found
    assert {f"exit-{int(code)}" for code in ExitCode} <= found


def test_the_reference_says_what_the_code_does():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tests/reference.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert text("docs/reference.md") == made.reference(), "make reference writes it"
    for page, source in made.SAME.items():
        assert page.read_bytes() == source.read_bytes(), "make reference writes it"
