"""What a night came to, as a report merged from its parts and as a page beside the last one."""

from __future__ import annotations

import json
import re

GOOD = ("passed", "found")
FOUND_MARKS = (
    ("wedged", ("the next run ended with", "TimeoutExpired", "out of time", "refs/runner/lease")),
    ("doubled", ("landed more than once", "landed twice", "assert len(landed)")),
    ("dirty", ("git status says", "nothing_is_left_behind", "git_finds_nothing_wrong", "dirt")),
)
"""By which words of a failure one knows how a crash was survived badly; else something is lost."""
KINDS = ("lost", "doubled", "wedged", "dirty")
WAYS = {
    "stops": "stopped right before an effect",
    "stops_twice": "and once more while that is put right",
    "power_is_cut": "power cut: what no fsync reached is gone, or torn",
    "fails": "an effect fails, once or from then on: disk full, or broken",
    "is_killed": "SIGKILL at a random moment, two at once",
    "is_killed_in_its_sandbox": "the same in a sandbox",
    "is_killed_with_its_git": "the same with every process it started",
}
GRAPHS = {"small": "two tasks", "whole": "every kind of task"}
OTHERS = {
    "kills-of-plans": "stopped or cut off while a task is planned and built in phases",
    "kills-of-changes": "stopped while a person answers a change that breaks others",
    "kills-of-published": "stopped on a published branch; two clones at once",
    "kills-of-the-example": "the example killed six times, six times over",
    "recoveries": "the suite's own samples of all of these, by another seed",
    "people": "killed while a person commits, rebases and saves",
    "disks": "a disk full or broken",
}


_INTRODUCTION = (
    'Written by `make campaign CAMPAIGN="--merge build/campaigns/*.json"` from the reports of its',
    "parts; the whole report is [campaigns.json](campaigns.json). What each campaign is stands in",
    "`tests/campaigns.toml`.",
)


class MergeError(Exception):
    """Why reports are no parts of one night."""


def merge_reports(reports):
    """One report of several parts of the same product and seed; a step of two parts is the later's.

    Raises MergeError where they are of different nights.
    """
    first, *others = reports
    for one in others:
        for key in ("format", "product", "seed"):
            if one[key] != first[key]:
                raise MergeError(f"parts of two nights: {key} {first[key]} and {one[key]}")
    parts = sorted((part for one in reports for part in one["parts"]), key=lambda one: one["begun"])
    results = {}
    for one in sorted(reports, key=lambda report: report["parts"][0]["begun"]):
        for result in one["results"]:
            known = results.get(result["name"])
            if known is None or result["state"] != "interrupted":
                results[result["name"]] = {**result, "failures": _cut(result["failures"])}
    return {**first, "parts": parts, "results": list(results.values())}


def _cut(failures):
    """Of each failure what it says first: the whole traceback is this machine's."""
    kept = []
    for one in failures:
        lines = [line[1:].strip() for line in one["said"].splitlines() if line[:1] == "E"]
        said = "\n".join(lines[:4]) or one["said"].strip()[-300:]
        kept.append(
            {"test": one["test"], "said": said[:600], "kind": one.get("kind") or kind_of(one)}
        )
    return kept


def kind_of(failure):
    """How a crash was survived badly, by what the test says."""
    for kind, words in FOUND_MARKS:
        if any(word in failure["said"] for word in words):
            return kind
    return "lost"


def missing(report, steps):
    """Names of steps that no part came to an end with."""
    done = {one["name"] for one in report["results"] if one["state"] != "interrupted"}
    return [one.name for one in steps if one.name not in done]


# --- the page ---------------------------------------------------------------------------


def write_page(report, steps, last=None):
    """The page, in Markdown; `last` is the report before."""
    before = {one["name"]: one for one in (last or {"results": ()})["results"]}
    lines = [
        "# A night of campaigns",
        "",
        *_INTRODUCTION,
        "",
        f"- Seed {report['seed']}; product {report['product'][:12]} (the tree of `runner/`)",
        *(_format_part(one) for one in report["parts"]),
        f"- Compared with: {_format_last(last)}",
        "",
        *_matrix(report, before),
        "",
        *_campaigns(report, steps, before),
        "",
        *_bugs(report, steps, before),
        "",
        *_found(report),
    ]
    return "\n".join(lines) + "\n"


def _format_part(part):
    how = f"ended {part['ended']}" if not part["interrupted"] else "**interrupted**, never ended"
    what = f"part {part['part']} of {len(part['asked'])} steps, commit {part['commit'][:12]}"
    return f"- {what}: begun {part['begun']}, {how}"


def _format_last(last):
    if last is None:
        return "nothing, it is the first"
    return f"seed {last['seed']}, begun {last['parts'][0]['begun']}"


def _matrix(report, before):
    """How often a run was cut off, by way, and what was lost, doubled, wedged or left dirty."""
    yield from ("## The crash matrix", "")
    yield "Each try is a run cut off and the next run, which has to come to the undisturbed end."
    yield "A campaign ends at the first try that does not hold."
    yield from ("", f"| cut off | graph | tries | {' | '.join(KINDS)} | last time |")
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    kills = _of(report, "kills")
    for graph, shown in GRAPHS.items():
        for way, words in {**WAYS, "cuts": "the journal cut at any byte"}.items():
            case = f"crashes[{graph}-{way}]" if way in WAYS else f"cuts[{graph}]"
            row = _row(kills, f"test_a_campaign_of_{case}", before.get("kills"))
            yield f"| {words} | {shown} | {row} |"
    for name, words in OTHERS.items():
        yield f"| {words} | | {_row(_of(report, name), '', before.get(name))} |"


def _of(report, name):
    return next((one for one in report["results"] if one["name"] == name), None)


def _row(result, case, before):
    if result is None or result["state"] in ("interrupted", "skipped", "out of time"):
        how = "not to its end" if result and result["state"] == "out of time" else "not run"
        return f"{how} |{' |' * len(KINDS)} {_tries(before, case)}"
    bad = [one for one in result["failures"] if not case or one["test"].endswith(case)]
    counts = [sum(one["kind"] == kind for one in bad) for kind in KINDS]
    shown = " | ".join(f"**{one}**" if one else "0" for one in counts)
    return f"{_tries(result, case)} | {shown} | {_tries(before, case)}"


def _tries(result, case):
    """How often a test or a campaign tried something; where it does not say, its tests."""
    if result is None:
        return "—"
    told = {name: int(said["tried"]) for name, said in result["figures"].items() if "tried" in said}
    if case:
        return f"{told.get(case, 0):,}"
    return f"{sum(told.values()):,}" if told else f"{result['passed'] + result['failed']} tests"


def _campaigns(report, steps, before):
    yield from ("## Campaigns", "")
    yield "| campaign | what | state | tests passed | failed | skipped | tries | seconds | last |"
    yield "|---|---|---|--:|--:|--:|--:|--:|---|"
    for step in (one for one in steps if one.kind == "campaign"):
        one, old = _of(report, step.name), before.get(step.name)
        was = f"{old['state']}, {_tries(old, '')}" if old else "—"
        if one is None:
            yield f"| {step.name} | {step.why} | not run | | | | | | {was} |"
            continue
        state = one["state"] if one["state"] in GOOD else f"**{one['state']}**"
        yield (
            f"| {step.name} | {step.why} | {state} | {one['passed']} | {one['failed']} |"
            f" {one['skipped']} | {_tries(one, '')} | {one['seconds']:,.0f} | {was} |"
        )


def _bugs(report, steps, before):
    bugs = [one for one in steps if one.kind == "bug"]
    found = [one for one in bugs if (_of(report, one.name) or {}).get("state") == "found"]
    yield from ("## Planted bugs", "")
    yield f"{len(found)} of {len(bugs)} were found by the campaign that each names, which passes"
    yield "without it. The patches are in `tests/planted/`."
    yield from (
        "",
        "| bug | has to be found by | state | seconds | last |",
        "|---|---|---|--:|---|",
    )
    for step in bugs:
        one, old = _of(report, step.name), before.get(step.name)
        state = one["state"] if one else "not run"
        shown = state if state in GOOD else f"**{state}**"
        seconds = f"{one['seconds']:,.0f}" if one else ""
        was = old["state"] if old else "—"
        yield f"| {step.why} | {step.by} | {shown} | {seconds} | {was} |"


def _found(report):
    yield from ("## What it found", "")
    bad = [one for one in report["results"] if one["kind"] == "campaign" and one["failures"]]
    if not bad:
        yield "Nothing that is not on this page."
    for result in bad:
        for one in result["failures"]:
            said = re.sub(r"\s+", " ", one["said"]).replace("|", "\\|").replace("`", "'")
            yield f"- {result['name']}: `{one['test'].rpartition('::')[2]}`: `{said[:300]}`"


def publish(reports, steps, folder):
    """Merge reports into `folder`: `campaigns.json`, and `campaigns.md` beside the one before."""
    path = folder / "campaigns.json"
    last = json.loads(path.read_text()) if path.exists() else None
    report = merge_reports(reports)
    if last and last["seed"] == report["seed"] and last["product"] == report["product"]:
        last = last.get("last")  # the same night again, with more parts
    folder.mkdir(parents=True, exist_ok=True)
    shown = {**report, "last": {**last, "last": None} if last else None}
    path.write_text(json.dumps(shown, indent=1, sort_keys=True) + "\n")
    (folder / "campaigns.md").write_text(write_page(report, steps, last))
    return report
