"""What comes from elsewhere is the very file that its authors published, and nothing was added."""

import hashlib

from runner.serve.pages import HERE

HTMX = ("2.0.11", "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717")
"""Version, and SHA-256 of `dist/htmx.min.js` in the package htmx.org of that version."""


def test_htmx_is_the_file_of_its_release_with_its_licence():
    version, digest = HTMX
    content = (HERE / "static" / "htmx.min.js").read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert f'version:"{version}"'.encode() in content
    assert "Zero-Clause BSD" in (HERE / "static" / "htmx.LICENSE.txt").read_text()


def test_every_script_and_style_is_one_that_is_known():
    known = {"htmx.min.js", "htmx.LICENSE.txt", "icon.svg", "page.css", "page.js"}
    assert {one.name for one in (HERE / "static").iterdir()} == known
