import pytest
from repo_build import a_change, a_repository, commit_all, files_of, git, write

from runner.model import digest_of
from runner.repo.merge import carry
from runner.repo.read import Repository
from runner.repo.scratch import Scratch

LINES = "".join(f"line {n}\n" for n in range(20))
BASE = {"a": LINES, "b": "b\n", "bin": b"\0\1\2" * 50, "gone": "x\n", "sh": LINES, "d/x": "1\n"}


@pytest.fixture
def merged(tmp_path):
    """Merge our changes onto a base that somebody else moved; the result and the scratch tree."""
    real = a_repository(tmp_path / "real", BASE)

    def merge(ours, theirs):
        with Repository.open(real) as repo:
            scratch = Scratch.open(tmp_path / "slot", repo.lender())
            scratch.reset(repo.head().commit)
        for path, content in theirs.items():
            if content is None:
                git(real, "rm", "-rq", path)
            else:
                write(real, {path: content})
        new = commit_all(real, "theirs")
        with Repository.open(real) as repository:
            result = carry(repository, (scratch.base, new), ours)
        scratch.reset(new)
        if not result.conflicts:
            scratch.apply(result.changes)
        return result, scratch

    return merge


def changed(text, line, said):
    return text.replace(f"line {line}\n", f"{said}\n")


def test_untouched_paths_take_ours(merged):
    result, scratch = merged((a_change("b", "ours"), a_change("n/new", "1")), {"a": "theirs"})

    assert result.conflicts == ()
    expected = {
        path: said if isinstance(said, bytes) else said.encode() for path, said in BASE.items()
    }
    assert files_of(scratch.project) == expected | {"a": b"theirs", "b": b"ours", "n/new": b"1"}
    assert [change.path for change in scratch.changes()] == ["b", "n/new"]


def test_different_lines_of_one_file_are_merged(merged):
    result, scratch = merged(
        (a_change("a", changed(LINES, 2, "ours")),), {"a": changed(LINES, 17, "theirs")}
    )

    both = changed(changed(LINES, 2, "ours"), 17, "theirs").encode()
    assert result.conflicts == ()
    assert [change.content for change in result.changes] == [both]
    assert result.changes[0].before == digest_of(changed(LINES, 17, "theirs").encode())
    assert (scratch.project / "a").read_bytes() == both


def test_carriage_returns_survive_a_merge(merged):
    crlf = LINES.replace("\n", "\r\n")
    result, _ = merged((a_change("a", crlf),), {"b": "x"})
    assert result.changes[0].content == crlf.encode()


def test_an_executable_bit_and_text_are_both_kept(merged):
    ours = a_change("sh", LINES, mode=0o100755)
    result, _ = merged((ours,), {"sh": changed(LINES, 3, "theirs")})

    assert result.changes[0].mode == 0o100755
    assert b"theirs" in result.changes[0].content


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        (a_change("a", changed(LINES, 2, "ours")), {"a": changed(LINES, 2, "theirs")}, "a"),
        (a_change("bin", b"\0ours" * 9), {"bin": b"\0theirs" * 9}, "bin"),
        (a_change("gone", None), {"gone": "changed\n"}, "gone"),
        (a_change("gone", "changed\n"), {"gone": None}, "gone"),
        (a_change("both", "ours"), {"both": "theirs"}, "both"),
        (a_change("new/file", "x"), {"new": "a file"}, "new/file"),
        (a_change("new", "x"), {"new/file": "a folder"}, "new"),
        (a_change("d/x/y", "x"), {"b": "1"}, "d/x/y"),
    ],
)
def test_what_cannot_be_merged_is_a_conflict_and_nothing_is_put(merged, ours, theirs, conflict):
    result, scratch = merged((ours, a_change("fine", "x")), theirs)

    assert result.conflicts == (conflict,)
    assert scratch.changes() == ()


def test_the_same_on_both_sides_is_nothing_left_to_do(merged):
    ours = (a_change("both", "same"), a_change("gone", None), a_change("a", "same"))
    result, scratch = merged(ours, {"both": "same", "gone": None, "a": "same"})

    assert (result.changes, result.conflicts) == ((), ())
    assert scratch.changes() == ()


def test_a_folder_we_replaced_by_a_file_and_they_wrote_into_is_a_conflict(merged):
    ours = (a_change("d/x", None), a_change("d", "a file"))
    result, scratch = merged(ours, {"d/z": "theirs"})

    assert result.conflicts == ("d",)
    assert (scratch.project / "d/z").read_text() == "theirs"
