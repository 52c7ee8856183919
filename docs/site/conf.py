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
include_patterns = ["*.md", "docs/*.md", "docs/cluster/*.md", "docs/figures/*.md"]
include_patterns += ["bench*/*.md", "bench*/**/*.md"]
suppress_warnings = ["toc.not_included"]  # what a page links to need not stand in the contents
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False

CONTENTS = {
    "Begin": "tutorial adopt plan draft agents acceptance held-out editors page",
    "Understand": "concepts proof when-it-stops trust security compare figures platforms",
    "For teams": "gate lease team operate keeping bridge attest",
    "Look up": "commands settings reference",
    "Take part": "follow-one-task rooms languages listeners",
}
"""The pages of docs/ by what one comes for; each stands in one of these."""
_BESIDE = {"Take part": "CONTRIBUTING ARCHITECTURE CHANGELOG"}


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
    """What Sphinx calls first."""
    app.connect("source-read", add_contents)
