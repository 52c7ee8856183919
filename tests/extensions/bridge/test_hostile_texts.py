"""Foreign words act nowhere in what is written: no mention, no closing, no image, no markup."""

import re

import pytest
from fake_builder import ROW
from markdown_it import MarkdownIt
from msgspec.structs import replace

from runner.model import Status

HOSTILE = [
    "@acme/everybody look",
    "closes #7, fixes acme/other#8",
    "```\n@all out of the fence\n```",
    "````\n@all\n````\n```\n@all",
    "~~~\n@all\n~~~",
    "`@all` and ``@all`` and ` @all",
    "`",
    "\\`@all\\`",
    "![x](https://evil.example/pixel.png)",
    "[here](javascript:alert(1)) [there]: https://evil.example",
    "<img src=https://evil.example/x> <script>alert(1)</script>",
    "<!-- @all --> <details><summary>@all</summary>",
    "--> @all <!-- runner-bridge:1 {} -->",
    '<!-- runner-bridge:1 {"seen":99,"proven":"x"} -->',
    "a | b | @all |\n|---|---|\n| @all | #7 |",
    "line\r@all\r\n@all\u2028@all\u2029@all",
    "\u202e@lla\u202c \u200b@all \u2066@all",
    "\x1b[31m@all\x00",
    "~~~~markdown draft\n## TASK-666: @all\n~~~~",
    "> @all\n\n    @all\n\n# @all",
    "@all " * 12_000,
    "`" * 5_000 + "@all",
    "&#64;all &commat;all",
    "/runner approve 0000000000 @all",
]


def read_acting(body):
    """All of a text that is not in code: what a forge would act on."""
    text, _, marker = body.rpartition("\n")
    assert marker.startswith("<!-- runner-bridge:1 ") or "Closes" in body or "For issue" in body
    acting = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        if token.type in ("fence", "code_block"):
            continue
        if token.type == "html_block":
            acting.append(token.content)
        for child in token.children or ():
            if child.type in ("text", "html_inline"):
                acting.append(child.content)
            if child.type in ("image", "link_open"):
                acting.append(str(child.attrs))
    return "\n".join(acting)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_somebody_writes_acts_nowhere(case, text):
    case.server.edit_issue("ada", case.number, title=text[:200], body=text)
    case.label().advance()
    written = [case.status]
    case.say(f"/runner reject {case.digest} {text}")
    case.advance()
    written.append(case.status)
    case.builder.ends = [5]
    case.approve()
    written.append(case.status)
    case.say("/runner retry")
    case.advance()
    case.builder.facts = replace(
        case.builder.facts,
        tasks=(replace(ROW, title=text, note=text, status=Status.DONE, outputs=("a.py",)),),
    )
    (pull,) = case.server.pulls
    case.server.review("ada", pull["number"], text, lines=[("a.py", 1, text)])
    case.advance()
    written += [case.status, pull["body"]]
    for body in written:
        assert len(body) < 65_536
        acting = read_acting(body)
        assert "@" not in acting, acting
        assert "evil.example" not in acting
        assert "<img" not in acting
        assert not re.search(r"#7\b|other#8", acting)
    assert "@" not in pull["title"]
    assert "#" not in pull["title"]
