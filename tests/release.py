"""`make release`: what people will install, made twice, looked at and tried without a network.

In `dist/`: the wheel, the source archive, a bill of materials (CycloneDX) of what the wheel brings,
and a provenance statement (SLSA v1 in an in-toto statement) of all of it. The wheel is installed
and tried on each Python of `PYTHONS`; a missing one is named. Nothing is uploaded.

`make release TAG=1` then makes the annotated tag `vVERSION` in this clone. It pushes nothing.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from runner import __version__
from runner.report.attestations import STATEMENT, encode

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
SBOM, PROVENANCE = "sbom.cdx.json", "provenance.json"
PROVENANCE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:task-graph-runner:make-release"
LICENCES = (
    *("MIT", "BSD", "Apache", "PSF", "Python Software Foundation", "ISC", "MPL", "Mozilla"),
    *("Unlicense", "0BSD", "CC0", "Zlib"),
)
"""Words of licences that ask nothing of whose work uses the whole."""


PYTHONS = ("3.11", "3.12", "3.13")
"""Versions of Python that the wheel is tried on."""


class ReleaseError(Exception):
    """What keeps this tree from being released."""


def run(*words, cwd=ROOT, **environ):
    """A command that has to end well; what it printed."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def digest(path):
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- built twice ----------------------------------------------------------------------


def build(commit, target):
    """The source archive and the wheel of a commit, from its own files and nothing beside them."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        source.mkdir()
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(source, filter="data")
        when = run("git", "log", "-1", "--format=%ct", commit).strip()
        run(
            BIN / "python",
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            target,
            cwd=source,
            SOURCE_DATE_EPOCH=when,
        )
    for packed in target.glob("*.tar.gz"):
        level(packed, int(when))
    return sorted(target.iterdir())


def level(path, when):
    """Write an archive again without what the machine and the minute brought into it."""
    with tarfile.open(path) as packed:
        members = [(one, packed.extractfile(one)) for one in packed.getmembers()]
        flat = io.BytesIO()
        with tarfile.open(fileobj=flat, mode="w", format=tarfile.PAX_FORMAT) as made:
            for one, content in sorted(members, key=lambda pair: pair[0].name):
                one.mtime, one.uid, one.gid, one.uname, one.gname = when, 0, 0, "", ""
                one.mode = 0o755 if one.isdir() or one.mode & 0o100 else 0o644
                one.pax_headers = {}
                made.addfile(one, content)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=when) as packed:
        packed.write(flat.getvalue())


def build_twice(commit, target):
    """What was built; raises ReleaseError where a second build gives other bytes."""
    with tempfile.TemporaryDirectory() as other:
        first, second = build(commit, target), build(commit, Path(other))
        for one, two in zip(first, second, strict=True):
            if one.name != two.name or digest(one) != digest(two):
                raise ReleaseError(f"{one.name}: a second build gives other bytes")
    return first


# --- looked at and tried --------------------------------------------------------------


def look_at(files):
    """The metadata and the content of what was built."""
    run(BIN / "twine", "check", "--strict", *files)
    wheel = next(one for one in files if one.suffix == ".whl")
    run(BIN / "check-wheel-contents", wheel)
    if __version__ not in wheel.name:
        raise ReleaseError(f"{wheel.name} is not of {__version__}")
    return wheel


def find_python(version):
    """The newest interpreter of a version such as `3.12`, of pyenv or on PATH; else None."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = sorted(root.glob(f"{version}.*/bin/python3"), key=lambda path: _numbers(path.parts[-3]))
    found = own[-1] if own else shutil.which(f"python{version}")
    return Path(found) if found else None


def _numbers(version):
    return [int(part) for part in version.split(".") if part.isdigit()]


def try_offline(wheel, place, python):
    """The demonstration, from the wheel and a wheelhouse, in a fresh environment, offline."""
    house, venv = place / "wheelhouse", place / "venv"
    run(python, "-m", "venv", venv)
    pip = (venv / "bin/python", "-m", "pip")
    run(*pip, "download", "-q", "-d", house, "-c", ROOT / "requirements.lock", wheel)
    offline = ("unshare", "--net", "--map-root-user") if shutil.which("unshare") else ()
    run(*offline, *pip, "install", "-q", "--no-index", "--find-links", house, wheel, cwd=place)
    home = place / "home"
    home.mkdir()
    said = run(*offline, venv / "bin/runner", "demo", cwd=home, HOME=str(home), NO_COLOR="1")
    if "DONE" not in said:
        raise ReleaseError(f"the demonstration does not say what it built:\n{said}")
    return venv


def try_everywhere(wheel, place):
    """Try the wheel on each of `PYTHONS`; return the environment of the first one that is there."""
    first = None
    for version in PYTHONS:
        python = find_python(version)
        if python is None:
            print(f"Python {version}: not installed here, NOT TRIED (pyenv install {version})")
            continue
        folder = place / version
        folder.mkdir()
        venv = try_offline(wheel, folder, python)
        print(f"Python {version}: installed from a wheelhouse, and runner demo run, offline")
        first = first or venv
    if first is None:
        raise ReleaseError(f"none of Python {', '.join(PYTHONS)} is installed here")
    return first


def find_tag_faults(changelog, version, tags):
    """What forbids the tag of a version: no chapter in the changelog, or the tag exists."""
    faults = []
    if not re.search(rf"^## {re.escape(version)}(\s|$)", changelog, re.MULTILINE):
        faults.append(f"CHANGELOG.md has no chapter {version}")
    if f"v{version}" in tags:
        faults.append(f"the tag v{version} exists already")
    return faults


def refuse_a_wrong_tag():
    """Raise ReleaseError before anything is built if the tag could not be made."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if faults := find_tag_faults(changelog, __version__, run("git", "tag").split()):
        raise ReleaseError("; ".join(faults))


def list_materials(venv, target):
    """The bill of materials of an environment; a licence that nobody looked at ends it."""
    run(BIN / "cyclonedx-py", "environment", venv / "bin/python", "-o", target, "--of", "JSON")
    materials = json.loads(target.read_text())["components"]
    if odd := find_odd_licences(materials):
        raise ReleaseError(f"licences that nobody looked at: {odd}")
    return len(materials)


def find_odd_licences(materials):
    """Names of components, with what they say of their licence, that are under none of ours."""
    told = {one["name"]: json.dumps(one.get("licenses", [])) for one in materials}
    return {
        name: said
        for name, said in told.items()
        if "GPL" in said or not any(word in said for word in LICENCES)
    }


def state_provenance(commit, when, files):
    """Which commit, of which time (RFC 3339), all of it was made from, as a statement."""
    subject = [{"name": one.name, "digest": {"sha256": digest(one)}} for one in files]
    return {
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": PROVENANCE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"commit": commit, "version": __version__},
                "resolvedDependencies": [
                    {"uri": "git:.", "digest": {"gitCommit": commit}},
                    {
                        "uri": "file:requirements.lock",
                        "digest": {"sha256": digest(ROOT / "requirements.lock")},
                    },
                ],
            },
            "runDetails": {
                "builder": {"id": BUILD_TYPE},
                "metadata": {"startedOn": when},
            },
        },
    }


def main():
    """Build, look, try, write; ends with 1 and why where something does not hold."""
    commit = run("git", "rev-parse", "HEAD").strip()
    if run("git", "status", "--porcelain").strip():
        raise ReleaseError("uncommitted changes: a release is made of a commit")
    wants_tag = os.environ.get("TAG") == "1"
    if wants_tag:
        refuse_a_wrong_tag()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    files = build_twice(commit, DIST)
    print(f"built twice, the same bytes: {', '.join(one.name for one in files)}")
    wheel = look_at(files)
    print("twine and check-wheel-contents find nothing")
    with tempfile.TemporaryDirectory() as place:
        venv = try_everywhere(wheel, Path(place))
        count = list_materials(venv, DIST / SBOM)
    print(f"{SBOM}: {count} components, each under a licence that was looked at")
    told = [*files, DIST / SBOM]
    when = run("git", "log", "-1", "--format=%cI", commit).strip()
    (DIST / PROVENANCE).write_text(encode(state_provenance(commit, when, told)))
    print(f"{PROVENANCE}: made from {commit}")
    for one in told:
        print(f"{digest(one)}  {one.name}")
    if wants_tag:
        run("git", "tag", "--annotate", f"v{__version__}", "--message", f"Version {__version__}")
        print(f"tagged v{__version__} in this clone; docs/releasing.md has what is left to do")


if __name__ == "__main__":
    try:
        main()
    except ReleaseError as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(DIST)  # half a release is none
        sys.exit(f"release: {error}")
