"""Validate JSON instances against a JSON Schema.

Usage: `instances JOB`. Runs isolated (`-I`) on the runner's own Python in the sandbox: a pattern
of a schema may take for ever, and the sandbox's limits end it. The job holds `schema` and
`instances` (path to text); `report` becomes a list of problems: path, where and text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MOST = 20
LONGEST = 300


def main() -> None:
    """Validate each instance; exit 1 where one is wrong."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    problems: list[dict[str, str]] = []
    for path, instance in job["instances"].items():
        problems += problems_of(job["schema"], path, instance)[: MOST - len(problems)]
    beside = Path(job["report"] + ".new")
    beside.write_text(json.dumps({"problems": problems}), "utf-8")
    beside.replace(job["report"])
    for problem in problems:
        sys.stdout.write(f"{problem['path']}: {problem['where']}: {problem['text']}\n")
    many = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    count = len(job["instances"])
    sys.stdout.write(f"{count} instance{'' if count == 1 else 's'}, {many}\n")
    sys.exit(bool(problems))


def problems_of(schema: Any, path: str, instance: Any) -> list[dict[str, str]]:
    """Return the problems of one instance."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    errors = kind(schema, format_checker=FormatChecker()).iter_errors(instance)
    try:
        return [
            {"path": path, "where": error.json_path, "text": error.message[:LONGEST]}
            for _, error in zip(range(MOST), errors, strict=False)
        ]
    except RecursionError:
        text = "the references of the schema form an endless loop"
        return [{"path": path, "where": "$", "text": text}]
