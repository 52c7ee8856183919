"""The operations of the bridge."""

from __future__ import annotations

from runner.operations.row import Operation, flag, option, word

ROWS = (
    Operation(
        "team bridge",
        "turn forge issues into plans and proven pull requests",
        "runner.extensions.bridge.bridge_command:execute",
        (
            word("forge", "", "forge that has the issues", choices=("github",)),
            option("--repo", "OWNER/NAME", "repository (default: from the remote)", default=""),
            flag("--follow", "keep polling until stopped"),
            option("--every", "SECONDS", "poll interval (default: 60)", kind=float, default=60),
            flag("--dry-run", "print write calls without making them"),
            flag("--sub-issues", "mirror tasks as sub-issues, one way"),
            option("--artifacts", "URL", "public address of the artifact store", default=""),
            option("--label", "NAME", "label of issues (default: runner)", default="runner"),
            option("--remote", "NAME", "git remote (default: origin)", default="origin"),
            option("--api", "URL", "API (default: https://api.github.com)", default=""),
            flag("--trust", "run this repository's commands without asking"),
        ),
        effects="writes runs sends",
        role="operator",
        examples="""\
examples:
  GH_TOKEN=… runner team bridge github --repo acme/shop            one round
  GH_TOKEN=… runner team bridge github --repo acme/shop --follow   until you stop it
  GH_TOKEN=… runner team bridge github --dry-run                   what a round would write

When somebody with push access adds the label `runner` to an issue, the bridge drafts a plan. It
shows the plan in the issue's status comment until such a person comments `/runner approve DIGEST`.
Then it builds the plan on a branch such as runner/42-csv-export, proves it together, and opens a
pull request. Run the bridge in a clone that you trust. The permissions that the token needs, and
what the bridge never does: docs/guides/team.md.
""",
    ),
)
