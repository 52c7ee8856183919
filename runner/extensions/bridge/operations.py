"""The command of the bridge."""

from __future__ import annotations

from runner.operations.row import Operation, flag, option, word

ROWS = (
    Operation(
        "team bridge",
        "issues of a forge become plans and proven pull requests",
        "runner.extensions.bridge.bridge_command:execute",
        (
            word("forge", "", "whose API it is", choices=("github",)),
            option("--repo", "OWNER/NAME", "(default: by the remote's address)", default=""),
            flag("--follow", "go on, and look again and again"),
            option("--every", "SECONDS", "between looks (default: 60)", kind=float, default=60),
            flag("--dry-run", "tell each call that writes, and make none"),
            flag("--sub-issues", "show tasks as issues below theirs, one way"),
            option("--artifacts", "URL", "where people read the artifact store", default=""),
            option("--label", "NAME", "by which it is asked (default: runner)", default="runner"),
            option("--remote", "NAME", "of this clone (default: origin)", default="origin"),
            option("--api", "URL", "of the API (default: https://api.github.com)", default=""),
            flag("--trust", "run this repository's commands without asking"),
        ),
        effects="writes runs sends",
        role="operator",
        examples="""\
examples:
  GH_TOKEN=… runner team bridge github --repo acme/shop            one round
  GH_TOKEN=… runner team bridge github --repo acme/shop --follow   until it is ended
  GH_TOKEN=… runner team bridge github --dry-run                   what a round would write

An issue that somebody who may push labels `runner` is drafted into a plan. The plan waits in the
issue's one comment, for `/runner approve DIGEST` of such a person; then it is built on a branch
such as runner/42-csv-export, proven together, and proposed as a pull request. Run it in a clone
that you trust.
docs/guides/team.md has the rights that the token needs, and what is never done.
""",
    ),
)
