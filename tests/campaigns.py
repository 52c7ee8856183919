"""`make campaign`: every campaign for as long as there is time, and bugs that they have to find.

`tests/campaigns.toml` says what runs, `tests/planted/*.patch` are the bugs: each goes into a copy
of the tree, and the campaign that it names has to fail there. What came of it is a report in JSON,
written after every step, so that a night that was cut off says so; the same words go on with it.
Parts of a night (`--part 2/3`) of the same product and seed are merged into one report, and the
page tells it beside the last one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from campaigns_page import GOOD, MergeError, missing, publish

ROOT = Path(__file__).parents[1]
CAMPAIGNS = ROOT / "tests" / "campaigns.toml"
PLANTED = ROOT / "tests" / "planted"
FIGURES = ROOT / "docs" / "figures"
FORMAT = 1
BUG_WEIGHT = 1.0
"""Of the night for one planted bug; a campaign's weight stands in its table."""
PATIENCE = 300.0
"""Seconds that a campaign may take above twice its share."""
OUT_OF_TIME = "out of time"
OPTIONS = (
    *("-n", "0", "-q", "-p", "no:cacheprovider", "--hypothesis-seed={seed}"),
    *("-o", "junit_family=xunit1"),
)
"""Of pytest, beside what a campaign says; only that family keeps what a test records of itself."""


class CampaignError(Exception):
    """What keeps a night from being begun, merged or told."""


@dataclass
class Step:
    """One campaign or planted bug, and what came of it."""

    name: str
    kind: str
    """`campaign`, or `bug`: a fault that a campaign has to find."""
    weight: float
    why: str
    tests: list[str]
    environ: dict[str, str] = field(default_factory=dict)
    spends: float = 0.0
    """Part of CAMPAIGN_SECONDS that its tests take; 0 where they run once."""
    by: str = ""
    """The campaign that has to find it."""


@dataclass
class Result:
    """What came of a step, as the report has it."""

    name: str
    kind: str
    state: str
    """passed, failed, out of time, skipped, interrupted; of a bug: found, missed, unsound,
    or out of time."""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[dict[str, str]] = field(default_factory=list)
    figures: dict[str, dict[str, str]] = field(default_factory=dict)
    """What tests recorded of themselves, by test: how often something was tried."""


# --- what a night is made of ------------------------------------------------------------


def read_campaigns(path=CAMPAIGNS):
    """The campaigns, in the order of trying."""
    return [
        Step(
            name,
            "campaign",
            one["weight"],
            one["why"],
            one["tests"],
            one.get("environ", {}),
            one.get("spends", 0.0),
        )
        for name, one in tomllib.loads(path.read_text()).items()
    ]


def read_planted(folder=PLANTED):
    """The planted bugs: the first lines of a patch say who finds it, and what it is."""
    known = {one.name: one for one in read_campaigns()}
    found = []
    for file in sorted(folder.glob("*.patch")):
        head = file.read_text().partition("\n--- ")[0]
        said = dict(re.findall(r"^(Campaign|Tests|Why): (.+)$", head, re.MULTILINE))
        if set(said) != {"Campaign", "Tests", "Why"} or said["Campaign"] not in known:
            raise CampaignError(f"{file.name}: begins with Campaign:, Tests: and Why:")
        by = known[said["Campaign"]]
        words = said["Tests"].split()
        found.append(
            Step(file.stem, "bug", BUG_WEIGHT, said["Why"], words, by.environ, by.spends, by.name)
        )
    return found


def deal(steps, part, parts):
    """This part of the steps: each goes to the part that has the least to do until now."""
    loads, mine = [0.0] * parts, []
    for one in sorted(steps, key=lambda step: (-step.weight, step.kind, step.name)):
        least = loads.index(min(loads))
        loads[least] += one.weight
        if least == part - 1:
            mine.append(one)
    return [one for one in steps if one in mine]


# --- one step ---------------------------------------------------------------------------


def run_tests(python, folder, words, environ, limit, report):
    """pytest in a process group of its own; its exit code, or None where the time was over."""
    options = [one.format(seed=environ["CAMPAIGN_SEED"]) for one in OPTIONS]
    process = subprocess.Popen(
        [str(python), "-m", "pytest", *options, f"--junit-xml={report}", *words],
        cwd=folder,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return None, ""
    else:
        return process.returncode, said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _own_folder(prefix):
    """A folder for a while; what a killed campaign still writes there keeps nobody waiting."""
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


def read_report(path):
    """Counts, failures and figures of a JUnit file; of none where there is none."""
    counts, failures, figures = dict.fromkeys(("passed", "failed", "skipped"), 0), [], {}
    cases = ET.parse(path).iter("testcase") if path.exists() else ()
    for case in cases:
        name = f"{case.get('classname')}::{case.get('name')}"
        wrong = [one for one in case if one.tag in ("failure", "error")]
        skipped = case.find("skipped") is not None
        counts["failed" if wrong else "skipped" if skipped else "passed"] += 1
        failures += [
            {"test": name, "said": (one.text or one.get("message"))[-4000:]} for one in wrong
        ]
        told = {one.get("name"): one.get("value") for one in case.iter("property")}
        if told:
            figures[case.get("name")] = told
    return counts, failures, figures


def environ_of(step, seed, share):
    """What the tests of a step are told: the seed, and how long they may go on."""
    told = {name: value.format(seed=seed) for name, value in step.environ.items()}
    seconds = max(1, round(share / step.spends)) if step.spends else 1
    return {"CAMPAIGN_SEED": str(seed), "CAMPAIGN_SECONDS": str(seconds), **told}


def try_campaign(step, seed, share, folder=ROOT, python=sys.executable):
    """What came of a campaign in `share` seconds, as far as its tests can be bounded."""
    with _own_folder("campaigns-") as place:
        Path(place).chmod(0o755)  # some tests are run as nobody
        report, began = Path(place, "junit.xml"), time.monotonic()
        # A bug of the same length, taken away within its second, would stay in kept bytecode.
        environ = environ_of(step, seed, share) | {"TMPDIR": place, "PYTHONPYCACHEPREFIX": place}
        code, said = run_tests(python, folder, step.tests, environ, 2 * share + PATIENCE, report)
        counts, failures, figures = read_report(report)
    state = OUT_OF_TIME if code is None else "passed" if code == 0 else "failed"
    if state == "passed" and not counts["passed"]:
        state = "skipped"
    if state == "failed" and not failures:
        failures = [{"test": "pytest", "said": said[-4000:]}]
    seconds = round(time.monotonic() - began, 1)
    return Result(
        step.name, step.kind, state, seconds, **counts, failures=failures, figures=figures
    )


def try_bug(step, seed, share, copy):
    """Whether the tests of its campaign fail with the bug, and pass without it for as long."""
    patch, began = PLANTED / f"{step.name}.patch", time.monotonic()
    first = replace(step, tests=[*step.tests, "-x"])
    apply_patch(patch, copy.folder)
    try:
        found = try_campaign(first, seed, share, copy.folder, copy.python)
    finally:
        apply_patch(patch, copy.folder, "--reverse")
    state = "found" if found.state == "failed" and found.failed else "missed"
    state = found.state if found.state == OUT_OF_TIME else state  # neither found nor missed
    if state == "found":
        sound = try_campaign(first, seed, found.seconds, copy.folder, copy.python)
        state = "found" if sound.state == "passed" else "unsound"
        state = sound.state if sound.state == OUT_OF_TIME else state
    seconds = round(time.monotonic() - began, 1)
    return Result(step.name, step.kind, state, seconds, found.passed, found.failed, found.skipped)


def apply_patch(patch, folder, *options):
    """Put a patch into a folder that need not be a repository, or with `--check` only try it."""
    words = ["git", "apply", *options, str(patch)]
    environ = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)}
    done = subprocess.run(
        words, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CampaignError(f"{patch.name} does not apply: {done.stderr.strip()}")


# --- a night ----------------------------------------------------------------------------


def git(*words):
    """What git says of this tree."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def begin_report(part, parts, seed, seconds, steps):
    """A report of which nothing is done yet."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    told = {
        "part": f"{part}/{parts}",
        "commit": git("rev-parse", "HEAD"),
        "begun": now,
        "ended": "",
        "seconds": seconds,
        "interrupted": True,
        "asked": [one.name for one in steps],
    }
    if git("status", "--porcelain", "--", "runner"):
        raise CampaignError("uncommitted changes in runner/: a night is about a commit")
    product = git("rev-parse", "HEAD:runner")
    return {"format": FORMAT, "product": product, "seed": seed, "parts": [told], "results": []}


def write_report(report, path):
    """The report as a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.tmp")
    beside.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    beside.replace(path)


def goes_on(report, path):
    """The report of the same night that was cut off, else the one that begins."""
    if not path.exists():
        return report
    old = json.loads(path.read_text())
    same = ("product", "seed", "format")
    if any(old[key] != report[key] for key in same) or not old["parts"][0]["interrupted"]:
        return report
    if old["parts"][0]["asked"] != report["parts"][0]["asked"]:
        return report
    old["results"] = [one for one in old["results"] if one["state"] != "interrupted"]
    return old


def spend_night(report, steps, seconds, path):
    """Try each step in its share of what is left, and write what came of it at once."""
    part, end, copy = report["parts"][0], time.monotonic() + seconds, None
    done = {one["name"] for one in report["results"]}
    rest = [one for one in steps if one.name not in done]
    with _own_folder("campaigns-copy-") as folder:
        for number, step in enumerate(rest):
            weights = sum(one.weight for one in rest[number:])
            share = max(1.0, (end - time.monotonic()) * step.weight / weights)
            begun = Result(step.name, step.kind, "interrupted")
            report["results"].append(asdict(begun))
            write_report(report, path)
            print(f"{step.name}: {share:.0f} s: {step.why}", flush=True)
            if step.kind == "bug":
                copy = copy or make_copy(Path(folder))
                result = try_bug(step, report["seed"], share, copy)
            else:
                result = try_campaign(step, report["seed"], share)
            report["results"][-1] = asdict(result)
            print(f"{step.name}: {result.state} after {result.seconds:.0f} s", flush=True)
            for one in result.failures:
                print(f"  {one['test']}", flush=True)
    part["interrupted"], part["ended"] = False, datetime.now(UTC).isoformat(timespec="seconds")
    write_report(report, path)


def make_copy(folder):
    """A copy of the tree, with an environment in which `runner` is the copy's."""
    from mutants import Copy

    return Copy(ROOT, folder / "copy")


def main(words=None):
    """Spend a night, or merge the parts of one; 1 where something was found or missed."""
    read = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    read.add_argument("--seconds", type=float, default=3600.0, help="budget of this part")
    read.add_argument(
        "--seed", type=int, help="default: one at random, or that of the night that goes on"
    )
    read.add_argument("--part", default="1/1", metavar="K/N", help="one of so many parts")
    read.add_argument("--only", default="", metavar="NAMES", help="campaigns, or planted, by comma")
    read.add_argument("--output", type=Path, help="the report (default: build/campaigns/K-N.json)")
    read.add_argument("--merge", type=Path, nargs="+", metavar="REPORT", help="into docs/figures")
    asked = read.parse_args(words)
    if asked.merge:
        return merge(asked.merge)
    part, parts = read_part(asked.part)
    path = asked.output or ROOT / "build" / "campaigns" / f"{part}-{parts}.json"
    seed = asked.seed
    if seed is None:
        seed = json.loads(path.read_text())["seed"] if path.exists() else random.randrange(10**6)
    steps = deal(choose_steps(asked.only), part, parts)
    report = goes_on(begin_report(part, parts, seed, asked.seconds, steps), path)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        spend_night(report, steps, asked.seconds, path)
    except KeyboardInterrupt:
        print(f"interrupted: {path} says so; the same words go on", flush=True)
        return 130
    print(f"seed {seed}: {path}")
    return 0 if all_good(report) else 1


def merge(paths):
    """Publish the parts of a night; 1 where something was found, missed or not run."""
    steps = choose_steps("")
    report = publish([json.loads(one.read_text()) for one in paths], steps, FIGURES)
    left = missing(report, steps)
    print(f"{FIGURES / 'campaigns.md'}: {len(report['results'])} steps, {len(left)} not run")
    for name in left:
        print(f"  not run: {name}")
    return 0 if not left and all_good(report) else 1


def all_good(report):
    """Whether nothing was found in the product, and every bug was."""
    return all(one["state"] in (*GOOD, "skipped") for one in report["results"])


def read_part(text):
    """`2/3` as two numbers."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise CampaignError(f"--part {text}: one of so many, as 2/3")
    return int(found[1]), int(found[2])


def choose_steps(only):
    """All steps, or those of the campaigns that are named; `planted` names the bugs."""
    campaigns = read_campaigns()
    steps = [*campaigns, *read_planted()]
    if not only:
        return steps
    names = set(only.split(","))
    if odd := names - {"planted", *(one.name for one in steps)}:
        raise CampaignError(f"--only {','.join(sorted(odd))}: not one of tests/campaigns.toml")
    return [one for one in steps if one.name in names or (one.kind == "bug" and "planted" in names)]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CampaignError, MergeError) as error:
        sys.exit(f"campaigns: {error}")
