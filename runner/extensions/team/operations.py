"""The operations of the team: store, people, repositories, queue and workers."""

from __future__ import annotations

from runner.operations.row import JSON, Operation, flag, option, word

ROWS = (
    Operation(
        "team store",
        "manage the store of a team's repositories, queue and events",
        "runner.extensions.team.store_commands:execute_store",
        (
            word(
                "verb",
                "",
                "action",
                choices=("init", "backup", "restore", "rebuild", "check", "prune"),
            ),
            word("file", "FILE", "file for backup and restore", "?", default=""),
            option("--older-than", "AGE", "prune: age, such as 90d or 12w", default=""),
            flag("--dry-run", "prune: only list what would be removed"),
            option("--store", "URL", "store to use: URL or path", default=""),
            JSON,
        ),
        output="store",
        effects="writes",
        role="admin",
        examples="""\
The default store is an SQLite file in your state folder, for this machine only. To share a store
between machines, use PostgreSQL: `[team] store = "postgresql://runner@db/runner"` in your settings.

examples:
  runner team store init                 create it, or upgrade an older one
  runner team store backup FILE          everything, as JSON Lines; restore it into any empty store
  runner team store rebuild              rebuild events and tasks from the journals on this machine
  runner team store check                check its integrity, and compare it with the journals
  runner team store prune --older-than 90d --dry-run
                                    list finished builds whose journal copies would be removed

prune removes all journal copies of a build, for finished builds only. It keeps the build's own
events, its tasks and its clone. When a build is retried, its journal is copied again.
""",
    ),
    Operation(
        "team people",
        "manage the people of a team's page: roles and tokens",
        "runner.extensions.team.store_commands:execute_people",
        (
            word(
                "verb",
                "",
                "action",
                choices=("add", "list", "role", "token", "revoke", "remove", "log"),
            ),
            word("what", "NAME|ID", "person; for revoke, a token ID", "*"),
            option("--role", "ROLE", "add: role (default: viewer)", default=""),
            option("--label", "TEXT", "token: label, such as laptop", default=""),
            option("--days", "AGE", "token: lifetime: 90d, 12w (default: no end)", default=""),
            option("--store", "URL", "store to use: URL or path", default=""),
            JSON,
        ),
        output="people",
        effects="writes",
        role="admin",
        examples="""\
roles, each includes the permissions of the ones before it:
  viewer      sees builds, their pending items and their events
  reviewer    approves and rejects pending items
  operator    queues, cancels and retries builds
  admin       adds people, sets roles, creates and revokes tokens

A token is printed only once, since the store has only its digest. To replace it, create another.

examples:
  runner team people add ada --role admin
  runner team people token ada --label laptop --days 90d     print a token to sign in at the page
  runner team people list                                    all people with their tokens
  runner team people role eve reviewer                       effective from the next request
  runner team people revoke 3f9a01bc                         its sessions end
  runner team people remove eve                              and all their tokens
  runner team people log                                     changes of people and tokens
""",
    ),
    Operation(
        "team repo",
        "add, list, check and remove a team's repositories",
        "runner.extensions.team.store_commands:execute_repo",
        (
            word("verb", "", "action", choices=("add", "list", "check", "remove")),
            word("what", "URL|NAME", "URL (add) or name", "?", default=""),
            option("--name", "NAME", "name (default: from the URL)", default=""),
            option("--branch", "NAME", "branch to start from (default: the remote's)", default=""),
            option("--plan", "PATH", "plan, if not TASK-GRAPH.md", default=""),
            option("--credential", "VARIABLE", "variable with the worker's token", default=""),
            option("--store", "URL", "store to use: URL or path", default=""),
            JSON,
        ),
        output="repositories",
        effects="writes sends",
        role="admin",
        examples="""\
`add` checks access with your own login. Workers that build the repository also need a login.
--credential names an environment variable of the worker that has a token for an https URL.

examples:
  runner team repo add git@forge.example:acme/shop.git
  runner team repo add https://forge.example/acme/shop.git --branch main --credential SHOP_TOKEN
  runner team repo check            check access to all of them again
""",
    ),
    Operation(
        "team queue",
        "queue, show and answer builds for a team's workers",
        "runner.extensions.team.queue_commands:execute_queue",
        (
            word("what", "", "a repository, or list, show, cancel, retry, approve, reject, budget"),
            word("more", "ID", "build and task ID; or a request to draft", "*"),
            option("--task", "ID", "build only this task (repeatable)", times="again"),
            option("--branch", "NAME", "target (default: feature/<short id>)", default=""),
            option("--timeout", "SECONDS", "limit on total build time", kind=float, default=0),
            option("--priority", "N", "higher starts earlier (default: 0)", kind=int, default=0),
            option("--tags", "A,B", "tags that the worker must have", default=""),
            flag("--all", "list: include finished builds"),
            option("--dollars", "N/day|month", "budget: cost limit, or none", default=""),
            option("--at-once", "N", "budget: limit of running builds, or none", default=""),
            option("--calls", "", "", default="", shown=False),
            option("--share", "N", "budget: dollars for one build", kind=float, default=0),
            option("--reason", "WHY", "reject, retry: the reason", default=""),
            option("--store", "URL", "store to use: URL or path", default=""),
            JSON,
        ),
        output="builds",
        effects="writes",
        role="operator",
        examples="""\
A worker (`runner team worker`) builds it on its own branch, feature/<short id>, and pushes it.
A repository whose name is a verb, such as list, cannot be queued.

examples:
  runner team queue shop                      the whole plan
  runner team queue shop "customers export their bookings as CSV"
                                         the worker drafts a plan, which you then approve
  runner team queue shop --task TASK-003 --timeout 3600 --priority 5 --tags gpu
  runner team queue list [shop] [--all]       unfinished builds; with --all also finished ones
  runner team queue show 8f3a                 one build: its tasks and latest events
  runner team queue cancel 8f3a             stops within seconds; landed work stays
  runner team queue retry 8f3a                does not rebuild tasks that are DONE on its branch
  runner team queue approve 8f3a TASK-003     approve a pending item
  runner team queue reject 8f3a TASK-003 --reason "keep the old name"
  runner team queue budget --dollars 200/month --at-once 4
                                         replaces all limits of the team (budget shop: of shop)
""",
    ),
    Operation(
        "team worker",
        "run the team's queued builds, one at a time",
        "runner.extensions.team.queue_commands:execute_worker",
        (
            flag("--trust", "allow the commands of all registered repositories"),
            option("--tags", "A,B", "tags that this machine offers", default=""),
            option("--bridge", "", "", default="", shown=False),
            flag("--once", "exit after one build, or if none is pending"),
            flag("--until-idle", "exit when no build is pending"),
            option("--store", "URL", "store to use: URL or path", default=""),
            JSON,
        ),
        effects="writes runs sends",
        role="operator",
        examples="""\
A worker claims a build, clones its repository, takes the lease of its branch in the remote, and
runs `runner run` there as a separate process. Commands run in the sandbox, as your user. On
SIGTERM the worker returns the build to the queue and exits with 0; landed work stays on its branch.

examples:
  runner team worker --trust                   until it is stopped
  runner team worker --trust --tags gpu,big    also takes builds that need these tags
  runner team worker --trust --until-idle      until no build is pending
""",
    ),
)

SERVE_FLAGS = tuple(
    one._replace(group="for a team")
    for one in (
        flag("--team", "serve the team's store to people who sign in"),
        option("--store", "URL", "store to use: URL or path", default=""),
        option("--listen", "ADDRESS", "address (default: 127.0.0.1); others need TLS", default=""),
        option("--name", "HOST[:PORT]", "host that browsers use (repeatable)", times="again"),
        option("--tls-cert", "FILE", "certificate with its chain (PEM)", default=""),
        option("--tls-key", "FILE", "its private key (PEM)", default=""),
        option("--behind-proxy", "ADDRESS", "proxy that terminates TLS", default=""),
    )
)
STATS_FLAGS = (flag("--team", "count builds in the team's store (`team.store`)"),)
