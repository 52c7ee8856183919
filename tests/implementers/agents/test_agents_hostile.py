"""An agent program that turns on its place: its HOME, its box, and the folders of the tree."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner import effects
from runner.implementers import registry
from runner.implementers.agents.home import hide_configuration, scrub_files
from runner.implementers.blocks import Blocks
from runner.model import Block, BlockKind

TOKEN = "tok" + "en-0123456789-abcdefghij"


def below(office, start):
    """A bench whose project lies below the repository's top."""
    (office.tree / start).mkdir(parents=True)
    context = office.context()
    return replace(context, place=replace(context.place, start=start))


@pytest.mark.parametrize(
    "line",
    [
        'mv "$(dirname $HOME)" {box}/mine',
        "cp -r $HOME {box}/.mine",
        "mkdir -p {box}/tmp; cp $HOME/.my/login.json {box}/tmp/mine",
        "chmod 000 $HOME/.my $HOME",
        'mv $HOME {box}/mine; ln -s {folder}/theirs "$HOME"',
        "rm -rf {box}/tmp; ln -s {folder}/theirs {box}/tmp",
    ],
)
def test_nothing_of_the_login_stays_for_the_next_command_in_the_slot(office, line):
    (office.home / ".my").mkdir()
    (office.home / ".my/login.json").write_text(f'{{"access": "{TOKEN}"}}')
    theirs = office.folder / "theirs"
    theirs.mkdir()
    (theirs / "kept").write_text("kept")
    office.script([{"run": line.format(box=office.box, folder=office.folder)}])
    office.implement()
    left = [path for path in office.box.rglob("*") if path != office.box / "tmp"]
    assert left == []
    assert not (office.box / "tmp").is_symlink()
    assert (theirs / "kept").read_text() == "kept"


def test_what_was_put_aside_is_not_put_back_through_a_link(office):
    theirs = office.folder / "theirs"
    theirs.mkdir()
    (theirs / ".aider.chat.history.md").write_text("theirs")
    context = below(office, "sub/project")
    for folder in ("", "sub", "sub/project"):
        (office.tree / folder / ".env").write_text("of the clone")
    with hide_configuration((".env",), (".aider.chat.history.md",), context):
        assert list(office.tree.rglob(".env")) == []  # a program looks in every folder above
        (office.tree / "sub").rename(office.tree / "gone")
        (office.tree / "sub").symlink_to(theirs)
        (theirs / "project").mkdir()
    assert (office.tree / ".env").read_text() == "of the clone"
    assert list(theirs.rglob(".env")) == []
    assert (theirs / ".aider.chat.history.md").read_text() == "theirs"


def test_a_link_in_the_place_of_the_projects_folder_is_followed_by_nobody(office):
    theirs = office.folder / "theirs"
    theirs.mkdir()
    context = below(office, "sub/project")
    (office.tree / "sub/project").rmdir()
    (office.tree / "sub/project").symlink_to(theirs)
    office.script([{"write": "a", "content": "a"}])
    said = office.agent().implement(office.brief(), context)
    assert said.findings[0].message == "the project's folder is a symbolic link in the scratch tree"
    block = Block(kind=BlockKind.FILE, path="a", text="a")
    task = replace(office.task(outputs=("a",)), blocks=(block,))
    brief = replace(office.brief(), task=task)
    chosen = registry.choose(task, office.settings)
    assert isinstance(chosen, Blocks)
    assert (
        chosen.implement(brief, context)
        .findings[0]
        .message.startswith("the project's folder is a symbolic link")
    )
    assert list(theirs.iterdir()) == []


def say(text):
    """A line of a program's stream that spells every letter of `text` by an escape."""
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in text)
    call = f'{{"type": "tool_use", "id": "t", "name": "{spelt}", "input": {{"path": "{spelt}"}}}}'
    yield f'{{"type": "assistant", "message": {{"id": "m", "content": [{call}]}}}}'
    yield f'{{"type": "result", "result": "it is {spelt}"}}'


def test_a_login_that_is_spelt_by_escapes_is_said_and_recorded_nowhere(office):
    office.environ["MY_LOGIN_TOKEN"] = TOKEN
    lines = office.folder / "lines"
    lines.write_text("\n".join(say(TOKEN)) + "\n")
    office.settings = settings_of(
        agent_command=f"cat {lines}",
        agent_env=("MY_LOGIN_TOKEN",),
        sandbox=office.settings.sandbox.kind,
    )
    said = office.implement()
    assert "it is [REDACTED" in said.summary
    assert TOKEN not in f"{said}{office.told}{office.events}"


def test_a_login_in_a_file_that_was_closed_is_struck_out():
    with TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        tree = Path(top) / "tree"
        (tree / "closed").mkdir(parents=True)
        (tree / "closed" / "f").write_text(f"it is {TOKEN}")
        (tree / "closed" / "f").chmod(0)
        (tree / "closed").chmod(0)
        assert scrub_files(Path(top) / "none", (TOKEN,), 0) == ()
        if os.geteuid() == 0:  # root reads everything
            subprocess.run(["chown", "-R", "65534", str(tree)], check=True)
        if (child := os.fork()) == 0:
            if os.geteuid() == 0:
                os.setuid(65534)
            os._exit(len(scrub_files(tree, (TOKEN,), 0)))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert (tree / "closed" / "f").read_text() == "it is [REDACTED:login]"


def test_a_login_below_folders_by_the_thousand_is_struck_out(tmp_path):
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1300):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    deep = tmp_path.joinpath(*"d" * 1300, "f")
    deep.write_text(TOKEN)
    assert len(scrub_files(tmp_path, (TOKEN,), 0)) == 1
    assert deep.read_text() == "[REDACTED:login]"
    effects.remove_tree(tmp_path / "d")  # which pytest could not


def test_a_login_as_the_name_of_a_file_or_deep_in_a_large_one_is_struck_out(office):
    office.environ["MY_LOGIN_TOKEN"] = TOKEN
    office.script(
        [
            {"run": "mkdir old new; echo x > old/a; touch -d 2001-01-01 old/a"},
            {"run": 'mv old "new/$MY_LOGIN_TOKEN"; ln -s x "new/link-$MY_LOGIN_TOKEN"'},
            {"run": 'head -c 17000000 /dev/zero > big; printf %s "$MY_LOGIN_TOKEN" >> big'},
        ]
    )
    said = office.implement()
    assert TOKEN not in str(said)
    assert sorted(finding.path for finding in said.findings if finding.refuses) == [
        "big",
        "new/[REDACTED:login]/a",
        "new/link-[REDACTED:login]",
    ]
    assert office.files() == {"big": "[REDACTED:login]"}
