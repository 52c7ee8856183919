"""The documents as a site, by Sphinx and MyST: `make site` writes build/site.

The Markdown files stay as the forge shows them; what a site has beside them is said here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "task-graph-runner"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**/*.md", "bench*/*.md", "bench*/**/*.md"]
suppress_warnings = ["toc.not_included"]  # what a page links to need not stand in the contents
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False

CONTENTS = {
    "Start": "start/tutorial start/adopt start/agents",
    "Guides": "guides/plan guides/review guides/change guides/gate guides/held-out guides/team "
    "guides/cluster guides/page guides/operate",
    "Reference": "reference/commands reference/settings reference/fields reference/messages "
    "reference/exit-codes reference/events rooms",
    "Explanation": "explanation/proof explanation/change explanation/security explanation/limits "
    "figures",
    "Contribute": "follow-one-task languages extensions releasing",
}
"""The pages of docs/ by section; each page stands in one section."""
_BESIDE = {"Contribute": "CONTRIBUTING ARCHITECTURE CHANGELOG"}


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the first page its table of contents, which the forge does not need."""
    del app
    if name != root_doc:
        return
    for caption, pages in CONTENTS.items():
        names = [f"docs/{page}" for page in pages.split()] + _BESIDE.get(caption, "").split()
        lines = "\n".join(names)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def setup(app: Sphinx) -> None:
    """Register the hooks of this site with Sphinx."""
    app.connect("source-read", add_contents)
