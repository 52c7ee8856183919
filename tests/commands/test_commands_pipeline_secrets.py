import io
import os
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pipeline_build import a_key, is_safe

KEY = a_key()


@pytest.fixture
def repository(ground):
    ground.git("init", "-q", "-b", "main")
    return ground


def typed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def nowhere(said, key=KEY):
    """The key, and no long part of it, is in anything that was said."""
    return all(key[start : start + 16] not in said.out + said.err for start in range(5, 60, 5))


def test_a_key_blocks_with_its_place_and_the_variable_to_use(ground):
    ground.write("app.py", f'import x\nclient = x.Client("{KEY}")\n')
    said = ground.runner("secret-scan", "app.py")
    assert said.code == 1
    assert said.out == (
        "app.py:2:20: error: secret found: OpenAI API key\n"
        "    hint: remove the value and read it from the environment: "
        'os.environ["OPENAI_API_KEY"]\n'
    )
    assert nowhere(said)


def test_a_clean_file_passes_outside_any_repository(ground):
    ground.write("app.py", "x = 1\n")
    said = ground.runner("secret-scan", "app.py")
    assert (said.code, said.out) == (0, "")
    assert said.err == "1 file scanned: nothing found\n"


def test_what_only_looks_odd_warns_and_passes(ground):
    ground.write("app.py", 'password = "correct-horse-battery"\n')
    said = ground.runner("secret-scan", "app.py")
    assert said.code == 0
    assert "warning" in said.out


def test_standard_input_is_scanned(ground, monkeypatch):
    typed(monkeypatch, f"k = '{KEY}'\n".encode())
    said = ground.runner("secret-scan", "-")
    assert said.code == 1
    assert said.out.startswith("(standard input):1:6: error: ")
    assert nowhere(said)


def test_a_key_in_the_files_name_is_found_and_not_shown(ground):
    ground.write(f"{KEY}.txt", "x\n")
    for form in ((), ("--json",), ("--sarif",)):
        said = ground.runner("secret-scan", *form, f"{KEY}.txt")
        assert said.code == 1
        assert nowhere(said)
        assert "[REDACTED:openai]" in said.out or "%5BREDACTED%3Aopenai%5D" in said.out


@pytest.mark.parametrize("form", ["--json", "--sarif"])
def test_documents_hold_every_finding_and_no_value(ground, form):
    ground.write("app.py", f'a = "{KEY}"\nb = "{a_key(11)}"\n')
    said = ground.runner("secret-scan", form, "app.py", "missing.py")
    assert said.code == 2
    assert nowhere(said)
    assert nowhere(said, a_key(11))
    if form == "--json":
        assert [one["line"] for one in said.json["findings"]] == [1, 2]
        assert said.json["kind"] == "secret-scan"
        assert said.json["blocked"] is True
        assert said.json["unreadable"][0]["path"] == "missing.py"
    else:
        (run,) = said.json["runs"]
        assert [one["level"] for one in run["results"]] == ["error", "error"]
        assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_goes_into_a_file_that_is_named_so_and_never_over_a_source(ground):
    ground.write("app.py", f'a = "{KEY}"\n')
    ground.write("other.py", "b = 1\n")
    assert ground.runner("secret-scan", "app.py", "--sarif", "out.sarif").code == 1
    assert (ground.folder / "out.sarif").read_text().startswith('{\n  "$schema"')
    said = ground.runner("secret-scan", "--sarif", "app.py", "other.py")
    assert said.json["version"] == "2.1.0"
    assert (ground.folder / "app.py").read_text() == f'a = "{KEY}"\n'


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ((), "name at least one file", "runner pipeline secret-scan FILE"),
        (("--bogus", "x"), "unrecognized arguments: --bogus", "runner pipeline secret-scan --help"),
        (("missing.py",), "missing.py: cannot be read: No such file", "check the name"),
        ((".",), ".: is a folder", "name its files: git ls-files"),
        (("/dev/zero",), "/dev/zero: is not a regular file", "name files"),
        (("a\0b",), "a\\x00b: cannot be read", "check the name"),
    ],
)
def test_bad_input_is_exit_2_with_a_hint(ground, words, message, hint):
    said = ground.runner("secret-scan", *words)
    assert said.code == 2
    assert message in said.err
    assert f"hint: {hint}" in said.err


def test_unreadable_files_are_each_told_and_the_rest_is_scanned(ground):
    ground.write("app.py", f'a = "{KEY}"\n')
    said = ground.runner("secret-scan", "no1", "app.py", "no2")
    assert said.code == 2
    assert said.err.count("cannot be read") == 2
    assert said.out.startswith("app.py:1:6: error")


def test_a_binary_an_empty_and_a_large_file_are_scanned(ground):
    (ground.folder / "empty").write_bytes(b"")
    (ground.folder / "binary").write_bytes(os.urandom(100_000))
    line = b"value = compute(first, second)  # nothing to see\n"
    large = line * (20_000_000 // len(line)) + f'k = "{KEY}"\n'.encode()
    (ground.folder / "large.py").write_bytes(large)
    assert ground.runner("secret-scan", "empty", "binary").code == 0
    said = ground.runner("secret-scan", "large.py")
    assert said.code == 1
    assert said.out.startswith(f"large.py:{20_000_000 // len(line) + 1}:6: error")


def test_escapes_in_a_name_reach_no_terminal(ground):
    name = "a\x1b[31m\u202eb.py"
    ground.write(name, f'k = "{KEY}"\n')
    said = ground.runner("secret-scan", name, "gone\x1b[2J")
    assert is_safe(said.out)
    assert is_safe(said.err)
    assert said.out.startswith("a\\x1b[31m\\u202eb.py:1:6")


# --- allowing -------------------------------------------------------------------------


def test_a_person_allows_a_value_by_its_place(repository):
    repository.write("app.py", f'x = 1\nk = "{KEY}"\n')
    assert repository.runner("secret-scan", "app.py").code == 1
    said = repository.runner("secrets", "allow", "app.py:2", "--reason", "documented sample")
    assert said.code == 0
    assert said.err == ("allowed by Ada <ada@example.org>; now commit secrets-allowed.toml\n")
    assert repository.runner("secret-scan", "app.py").code == 0
    kept = (repository.folder / "secrets-allowed.toml").read_text()
    assert KEY not in kept
    assert 'reason = "documented sample"' in kept
    assert 'author = "Ada <ada@example.org>"' in kept
    again = repository.runner("secrets", "allow", "app.py:2", "--reason", "again")
    assert again.err == "already allowed; to list all: runner pipeline secrets list\n"


def test_a_value_is_allowed_from_standard_input_and_never_from_an_argument(repository, monkeypatch):
    repository.write("sub/app.py", f'k = "{KEY}"\n')
    typed(monkeypatch, f"{KEY}\n".encode())
    assert repository.runner("secrets", "allow", "--value-from", "-", "--reason", "ok").code == 0
    assert repository.runner("secret-scan", "sub/app.py").code == 0
    said = repository.runner("secrets", "allow", KEY, "--reason", "pasted")
    assert said.code == 2
    assert nowhere(said)


def test_one_allowed_value_lets_no_other_pass(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    repository.runner("secrets", "allow", "app.py:1", "--reason", "ok")
    repository.write("app.py", f'k = "{a_key(11)}"\n')
    assert repository.runner("secret-scan", "app.py").code == 1


def test_of_several_values_on_a_line_one_is_named(repository):
    repository.write("app.py", f'k = ("{KEY}", "{a_key(11)}")\n')
    said = repository.runner("secrets", "allow", "app.py:1", "--reason", "ok")
    assert said.code == 2
    assert "this line has several findings, at columns 7, 99" in said.err
    assert repository.runner("secrets", "allow", "app.py:1:99", "--reason", "ok").code == 0
    said = repository.runner("secret-scan", "app.py")
    assert [line for line in said.out.splitlines() if "error" in line] == [
        "app.py:1:7: error: secret found: OpenAI API key"
    ]


def test_an_entry_ends_on_its_day(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    today = datetime.now(UTC).date()
    reason = ("--reason", "for now")
    allow = ("secrets", "allow", "app.py:1", *reason, "--expires")
    assert repository.runner(*allow, str(today)).code == 0
    assert repository.runner("secret-scan", "app.py").code == 0
    kept = repository.folder / "secrets-allowed.toml"
    kept.write_text(kept.read_text().replace(str(today), str(today - timedelta(days=1))))
    assert repository.runner("secret-scan", "app.py").code == 1
    listed = repository.runner("secrets", "list")
    assert f"{today - timedelta(days=1)} (expired)" in listed.out
    assert repository.runner("secrets", "list", "--json").json["allowed"][0]["expired"] is True


def test_what_a_person_wrote_into_the_list_stays(repository):
    repository.write("app.py", f'k = "{KEY}"\nl = "{a_key(11)}"\n')
    repository.runner("secrets", "allow", "app.py:1", "--reason", "one")
    kept = repository.folder / "secrets-allowed.toml"
    kept.write_text("# ours\n" + kept.read_text().rstrip("\n"))
    before = kept.read_text()
    assert repository.runner("secrets", "allow", "app.py:2", "--reason", "two").code == 0
    assert kept.read_text().startswith(before)
    assert repository.runner("secret-scan", "app.py").code == 0


def test_a_reason_that_is_a_key_is_kept_nowhere(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    said = repository.runner("secrets", "allow", "app.py:1", "--reason", f"it is {KEY}")
    assert said.code == 2
    assert nowhere(said)
    assert not (repository.folder / "secrets-allowed.toml").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("allow", "app.py:1"), "an entry needs a reason"),
        (("allow", "app.py:1", "--reason", " "), "an entry needs a reason"),
        (("allow", "--reason", "x"), "name either the place or the value"),
        (("allow", "app.py:1", "--value-from", "x", "--reason", "x"), "name either"),
        (("allow", "app.py", "--reason", "x"), "no line number"),
        (("allow", "app.py:9", "--reason", "x"), "the scan finds nothing at this place"),
        (("allow", "gone.py:1", "--reason", "x"), "cannot be read"),
        (("allow", "app.py:1", "--reason", "x", "--expires", "soon"), '"soon" is not a valid date'),
        (("allow", "app.py:1", "--reason", "x", "--expires", "2001-01-01"), "is in the past"),
        (("forget",), "needs one of: allow, list, log"),
        ((), "needs one of: allow, list, log"),
    ],
)
def test_what_cannot_be_allowed_is_exit_2_with_a_hint(repository, words, message):
    repository.write("app.py", f'k = "{KEY}"\n')
    said = repository.runner("secrets", *words)
    assert said.code == 2
    assert message in said.err
    assert "hint: " in said.err
    assert not (repository.folder / "secrets-allowed.toml").exists()


def test_a_broken_list_lets_nothing_pass_unsaid(repository):
    repository.write("app.py", "x = 1\n")
    repository.write("secrets-allowed.toml", "[[allowed]]\nvalue = 1\n")
    said = repository.runner("secret-scan", "app.py")
    assert said.code == 2
    assert "entry 1 cannot be read" in said.err


def test_outside_a_repository_there_is_no_list(ground):
    said = ground.runner("secrets", "list")
    assert said.code == 2
    assert "not in a git repository" in said.err


def test_a_task_may_not_write_the_list():
    from runner.secrets.allowlist import FILE_NAME
    from runner.writes.paths import is_control, is_forbidden, scope_finding

    assert is_forbidden(FILE_NAME)
    assert is_forbidden(FILE_NAME.upper())
    assert is_control(f"sub/{FILE_NAME}")
    assert scope_finding(FILE_NAME, (FILE_NAME,), "TASK-001").refuses
