"""What `make release` does to archives, licences and statements; its run is the other test."""

import io
import json
import re
import tarfile
import tomllib

import pytest
from release import (
    PROVENANCE_TYPE,
    ROOT,
    digest,
    find_odd_licences,
    find_python,
    find_tag_faults,
    level,
    state_provenance,
)

from runner import __version__
from runner.report.attestations import STATEMENT


def an_archive(path, names, *, mtime, user):
    with tarfile.open(path, "w:gz") as made:
        for name in names:
            one = tarfile.TarInfo(name)
            one.size, one.mtime, one.uname, one.uid = len(name), mtime, user, mtime % 1000
            one.mode = 0o755 if name.endswith(".sh") else 0o640
            made.addfile(one, io.BytesIO(name.encode()))


def test_an_archive_does_not_say_where_and_when_it_was_made(tmp_path):
    an_archive(tmp_path / "one.tar.gz", ["a/b.py", "a/c.sh"], mtime=1_000_000, user="ada")
    an_archive(tmp_path / "two.tar.gz", ["a/c.sh", "a/b.py"], mtime=1_700_000, user="root")
    for name in ("one", "two"):
        level(tmp_path / f"{name}.tar.gz", 1_234_567)
    assert digest(tmp_path / "one.tar.gz") == digest(tmp_path / "two.tar.gz")
    with tarfile.open(tmp_path / "one.tar.gz") as packed:
        found = [(one.name, one.mtime, one.uname, one.mode) for one in packed]
        assert packed.extractfile("a/b.py").read() == b"a/b.py"
    assert found == [("a/b.py", 1_234_567, "", 0o644), ("a/c.sh", 1_234_567, "", 0o755)]


@pytest.mark.parametrize(
    ("said", "odd"),
    [
        ([{"license": {"id": "MIT"}}], False),
        ([{"expression": "Apache-2.0 OR BSD-3-Clause"}], False),
        ([{"license": {"name": "License :: OSI Approved :: BSD License"}}], False),
        ([{"license": {"id": "GPL-3.0-only"}}], True),
        ([{"expression": "MIT AND AGPL-3.0-only"}], True),
        ([{"license": {"name": "ask us"}}], True),
        ([], True),
    ],
)
def test_a_licence_that_nobody_looked_at_is_found(said, odd):
    found = find_odd_licences([{"name": "one", "licenses": said}])
    assert list(found) == (["one"] if odd else [])


def test_a_statement_names_every_file_and_the_commit(tmp_path):
    file = tmp_path / "a.whl"
    file.write_bytes(b"wheel")
    commit = "c" * 40
    said = state_provenance(commit, "2026-01-02T03:04:05Z", [file])
    assert (said["_type"], said["predicateType"]) == (STATEMENT, PROVENANCE_TYPE)
    assert said["subject"] == [{"name": "a.whl", "digest": {"sha256": digest(file)}}]
    definition = said["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["commit"] == commit
    assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": commit}


# --- the container file -----------------------------------------------------------------

CONTAINER = [
    line.partition(" ")[::2]
    for line in (ROOT / "Containerfile").read_text().splitlines()
    if line and not line.startswith("#")
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_container_file_takes_the_wheel_of_this_version_with_extras_that_there_are():
    wheel = f"{PROJECT['name'].replace('-', '_')}-{__version__}-py3-none-any.whl"
    assert [rest for word, rest in CONTAINER if word == "COPY"] == [f"dist/{wheel} /tmp/"]
    (told,) = [rest for word, rest in CONTAINER if "pip install" in rest]
    found = re.search(rf'"/tmp/{re.escape(wheel)}\[([a-z,]+)\]"', told)
    assert found, told
    assert set(found[1].split(",")) <= set(PROJECT["optional-dependencies"])
    assert not {"dev", "docs", "release"} & set(found[1].split(","))


def test_the_container_file_has_a_python_that_is_promised_and_runs_as_nobody_special():
    words = [word for word, _ in CONTAINER]
    assert set(words) <= {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}
    assert words[0] == "FROM"
    version = re.search(r"python:(3\.\d+)-", CONTAINER[0][1])
    assert version
    assert f"Programming Language :: Python :: {version[1]}" in PROJECT["classifiers"]
    assert words.index("USER") > max(n for n, word in enumerate(words) if word == "RUN")
    (user,) = [rest for word, rest in CONTAINER if word == "USER"]
    assert any(rest == f"useradd --create-home {user}" for _, rest in CONTAINER)
    (entry,) = [rest for word, rest in CONTAINER if word == "ENTRYPOINT"]
    assert json.loads(entry) == list(PROJECT["scripts"])


@pytest.mark.parametrize(
    ("changelog", "tags", "faults"),
    [
        ("# Changelog\n\n## 1.2.0 (2026-01-02)\n", [], 0),
        ("# Changelog\n\n## 1.2.0\n", ["v1.1.0"], 0),
        ("# Changelog\n\n## 1.2.01\n", [], 1),
        ("# Changelog\n\n## 1.2.0\n", ["v1.2.0"], 1),
        ("# Changelog\n", ["v1.2.0"], 2),
    ],
)
def test_a_tag_needs_a_chapter_and_a_new_name(changelog, tags, faults):
    assert len(find_tag_faults(changelog, "1.2.0", tags)) == faults


def test_the_newest_python_of_a_version_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert find_python("3.12") is None
    for version in ("3.12.9", "3.12.10"):
        (tmp_path / "versions" / version / "bin").mkdir(parents=True)
        (tmp_path / "versions" / version / "bin/python3").touch()
    assert find_python("3.12").parts[-3] == "3.12.10"


def test_the_changelog_is_short_and_grouped():
    chapters = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert chapters
    for chapter in chapters:
        entries = re.findall(r"^- (.+)$", chapter, re.MULTILINE)
        assert len(entries) <= 25, chapter.splitlines()[0]
        assert [one for one in entries if len(one.split()) > 25] == []
        assert set(re.findall(r"^### (.+)$", chapter, re.MULTILINE)) <= {
            "Added",
            "Changed",
            "Fixed",
            "Removed",
        }


def test_the_editor_extension_has_the_same_version():
    package = json.loads((ROOT / "editors/vscode/package.json").read_text())
    assert package["version"] == __version__
