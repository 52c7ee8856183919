"""Hostile people and hostile texts: nothing that they write acts anywhere."""

import re

import pytest
from clone_place import Place
from fake_builder import ROW
from markdown_it import MarkdownIt
from msgspec.structs import replace

from runner.extensions.bridge.builder import BuildFacts, CommandExit
from runner.extensions.bridge.comment_text import (
    Memory,
    code,
    cut_lines,
    fence,
    plain_title,
    read_memory,
    with_memory,
)
from runner.journal.session_events import DraftProposed
from runner.model import ReviewMode, Status, digest_of

KEY = "".join(reversed("1f5e8a7b6c9d0e2f3a4b5c6d7e8f9a0b1c2d_phg"))


def propose(case, text):
    """Have this plan wait, whoever drafted it."""
    digest = digest_of(text.encode())
    draft = DraftProposed(1, "TASK-GRAPH.md", text, digest, ("TASK-008",), case.builder.wish)
    case.builder._propose = lambda _: CommandExit(3, "")
    case.builder.facts = replace(case.builder.facts, draft=draft, drafts=1)
    return digest.removeprefix("sha256:")[:12]


# --- who loses what they had -----------------------------------------------------------


@pytest.mark.parametrize("right", ["triage", "read", None])
def test_who_may_push_no_more_when_it_is_looked_at_has_approved_nothing(case, right):
    case.server.people["bob"] = "write"
    case.label("ada").advance()
    case.say(f"/runner approve {case.digest}", "bob")
    case.server.people["bob"] = right
    assert case.advance() == "the plan needs review"
    assert case.builder.done == ["draft 1"]


def test_nothing_goes_on_for_who_asked_and_may_push_no_more(case):
    case.label("ada").advance()
    work = case.make_work()
    work.advance()
    assert not work.is_halted()
    case.server.people["ada"] = "read"
    case.forge.forget_rights()
    assert work.is_halted(), "what is being built for them is ended"
    case.server.people["bob"] = "write"
    case.say(f"/runner approve {case.digest}", "bob")
    assert case.advance() == "not labelled by anybody with push access"
    assert case.builder.done == ["draft 1"]


def test_a_forge_that_does_not_answer_for_a_moment_ends_nothing_that_goes_on(case, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("runner.effects.monotonic", lambda: clock[0])
    case.label().advance()
    work = case.make_work()
    work.advance()
    case.server.busy = [(429, {"Retry-After": "7"})]
    assert not work.is_halted()
    case.server.close_issue("ada", case.number)
    assert not work.is_halted(), "it is left alone for as long as it asked for"
    clock[0] += 8
    assert work.is_halted(), "and what it says then is heard"


def test_rights_are_asked_again_within_one_long_round(case, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("runner.effects.monotonic", lambda: clock[0])
    assert case.forge.may_write("ada")
    case.server.people["ada"] = "read"
    clock[0] += 61
    assert not case.forge.may_write("ada")


def test_a_member_whom_the_forge_does_not_call_one_is_heard_if_they_may_push(case):
    """What a forge says of a private member is CONTRIBUTOR or NONE: the rights decide."""
    case.label().advance()
    case.server._association = lambda _login: "NONE"
    case.say(f"/runner approve {case.digest}")
    assert case.advance() == "the pull request needs review"


# --- pull requests of others -----------------------------------------------------------


def test_a_pull_request_that_somebody_else_opened_of_the_branch_is_not_ours(case):
    case.label().advance()
    theirs = case.server.open_pull("eve", "runner/1", "main", "Closes #7", "Closes #7 @all")
    assert case.approve() == "needs your input"
    assert "somebody else opened one" in case.status
    assert case.server.issues[theirs]["body"] == "Closes #7 @all"
    assert case.server.issues[theirs]["state"] == "open"
    case.server.close_issue("ada", theirs)
    case.say("/runner retry")
    assert case.advance() == "the pull request needs review"
    assert [one["user"] for one in case.server.pulls] == ["eve", "runner-bot"]
    assert case.advance() == "the pull request needs review"


@pytest.mark.parametrize(
    ("base", "repository"), [("release", ""), ("main", "acme/fork"), ("main", "acme/shop2")]
)
def test_one_into_another_branch_or_of_a_fork_is_passed_over(case, base, repository):
    case.server._git("update-ref", "refs/heads/release", case.server.sha_of("main"))
    case.label().advance()
    case.server.open_pull("runner-bot", "runner/1", base, "Theirs", "x", repository)
    assert case.approve() == "the pull request needs review"
    assert case.server.pulls[0]["body"] == "x"
    assert case.server.pulls[1]["body"].startswith("Closes #1\n")


# --- what looks like something else ----------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "\uff0frunner approve {digest}",  # a full-width solidus
        "/runner \u0430pprove {digest}",  # a Cyrillic letter
        "/runner approve\u00a0{digest}",
        "/runner\u2003approve {digest}",
        "/\u200brunner approve {digest}",
        "\ufeff/runner approve {digest}",
        "/runner approve \u202e{digest}",
        "<!-- -->/runner stop\n/runner approve {digest}",
        "/runner approve {wide}",
    ],
    ids=range(9),
)
def test_what_only_looks_like_a_command_is_none(case, text):
    case.label().advance()
    wide = "".join(chr(ord(one) + 0xFEE0) for one in case.digest)
    case.say(text.format(digest=case.digest, wide=wide))
    assert case.advance() in ("the plan needs review", "paused")
    assert case.builder.done == ["draft 1"]


@pytest.mark.parametrize("label", ["runn\u0435r", "runner\u200b", "\uff52unner", "runner "])
def test_a_label_that_only_looks_like_ours_begins_nothing(case, label):
    case.server.label("ada", case.number, label)
    assert case.advance() == "not asked for"
    assert case.builder.wish == ""


def test_a_label_that_differs_by_case_alone_is_the_same(case):
    case.server.label("ada", case.number, "Runner")
    assert [one.number for one in case.forge.list_issues("runner")] == [1]
    assert case.advance() == "the plan needs review"
    case.server.label("ada", case.number, "Runner:Paused")
    assert case.advance() == "paused"


@pytest.mark.parametrize(
    "title",
    ["closes GH-7", "fixes gh-7", "resolves https://forge.test/acme/shop/issues/7", "closes #7 @a"],
)
def test_no_word_of_a_title_closes_or_rings_in_a_subject(case, title):
    from forge_server import CLOSING

    assert CLOSING.search(title)
    assert not CLOSING.search(plain_title(title))
    assert "@" not in plain_title(title)
    case.mode, case.builder.unknown = ReviewMode.OFF, ()
    case.label()
    propose(case, f"## TASK-008: {title}\n")
    assert case.advance() == "the plan needs review", "a person reads such a heading first"
    assert "would notify people or close issues" in case.status


# --- too much --------------------------------------------------------------------------


def test_a_plan_that_is_not_shown_whole_is_approved_by_nobody_here(case):
    case.label()
    digest = propose(case, "## TASK-008: Export\n\n" + "fine\n" * 7000 + "- `rm -rf /`\n")
    assert case.advance() == "the plan needs review"
    assert "too long to show" in case.status
    assert f"approve {digest}" not in case.status
    case.say(f"/runner approve {digest}")
    case.advance()
    case.server.label("ada", case.number, "runner:in-progress")
    assert case.advance() == "the plan needs review"
    assert case.builder.done == []
    case.say(f"/runner reject {digest} less at once")
    case.builder._propose = type(case.builder)._propose.__get__(case.builder)
    assert case.advance() == "the plan needs review"
    assert case.builder.done == ["draft 2"]


def test_the_longest_plan_that_is_approved_is_shown_to_its_last_line(case):
    case.label()
    ticks = "`" * 4000
    text = f"## TASK-008: Export\n\n{ticks}\n{'-<' * 8000}\nits last line"
    digest = propose(case, text)
    case.advance()
    case.say(f"/runner reject {digest} {'-<' * 1900}")
    propose(case, text)
    case.advance()
    assert "its last line" in case.status
    assert f"/runner approve {digest}" in case.status
    assert len(case.status) < 65_536


def test_commands_that_are_not_listed_are_counted(case):
    case.builder.unknown = tuple(f"python{number}" for number in range(33))
    case.label().advance()
    assert "- and 13 more" in case.status


def read_acting(body):
    return "".join(
        child.content
        for token in MarkdownIt("commonmark").enable("table").parse(body)
        for child in token.children or ()
        if child.type == "text" and token.type == "inline"
    )


@pytest.mark.parametrize("most", range(900, 1400, 7))
def test_wherever_a_text_is_cut_nothing_in_it_comes_alive(most):
    lines = [f"| {code('`@all ' * 9)} |", fence("```\n@all\n" * 20), f"- {code('@all')}"] * 9
    cut = cut_lines("\n".join(lines), most)
    assert len(cut) <= most
    assert cut.endswith("cut here")
    assert "@" not in read_acting(cut)


def test_a_thousand_tasks_with_long_titles_fit_and_ring_nobody(case):
    case.label().advance()
    case.approve()
    rows = tuple(
        replace(ROW, id=f"TASK-{number:04}", title=f"{'@all ' * 40}{number}", outputs=())
        for number in range(1000)
    )
    case.builder.facts = replace(case.builder.facts, tasks=rows)
    assert case.advance() == "the pull request needs review"
    (pull,) = case.server.pulls
    for body in (case.status, pull["body"]):
        assert len(body) < 65_536
        assert "@" not in read_acting(body.rpartition("<!--")[0] or body)


def test_the_marker_holds_no_secret_and_stays_within_bounds():
    told = Memory(handed=f"it failed: {KEY}", answer=f"{KEY} --> @all", history=f"{KEY}\n" * 500)
    body = with_memory("said\n" * 30_000, told)
    assert KEY not in body
    assert len(body) < 65_536
    again = read_memory(body)
    assert again.handed.startswith("it failed: ")
    assert body.count("-->") == 1
    assert read_memory(with_memory("said", again)) == again, "said again it is the same"


@pytest.fixture
def place(workplace, tmp_path):
    return Place(workplace, tmp_path)


@pytest.mark.parametrize("reason", ["\x00", "\ud800", "\x1b[2J", "--help", "-" * 3000])
def test_a_reason_is_data_for_the_command_that_reads_it(place, reason):
    """Of the real clone: nothing in it is an option, ends the word, or cannot be a word."""
    from runner.extensions.bridge.admission import read_command
    from runner.extensions.bridge.forge import Comment

    said = f"/runner reject {'a' * 12} x{reason}"
    command = read_command(Comment(1, "ada", said, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"))
    place.prepare()
    draft = DraftProposed(1, "TASK-GRAPH.md", "text", "sha256:" + "a" * 64, (), "")
    ended = place.clone.reject(draft, command.text)
    assert "DRAFT-1" in ended.stderr
    assert BuildFacts(draft).draft is draft


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


def list_acting(body):
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
        acting = list_acting(body)
        assert "@" not in acting, acting
        assert "evil.example" not in acting
        assert "<img" not in acting
        assert not re.search(r"#7\b|other#8", acting)
    assert "@" not in pull["title"]
    assert "#" not in pull["title"]
