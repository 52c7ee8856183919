"""Commands of the team: store, people, repositories, queue and workers."""

from __future__ import annotations

from runner.operations.row import JSON, Operation, flag, option, word

ROWS = (
    Operation(
        "team store",
        "where a team's repositories, queue and events are kept",
        "runner.extensions.team.store_commands:execute",
        (
            word(
                "verb",
                "",
                "what is to be done",
                choices=("init", "backup", "restore", "rebuild", "check", "prune"),
            ),
            word("file", "FILE", "of backup and restore", "?", default=""),
            option("--older-than", "AGE", "of prune: builds that ended 90d, 12w ago", default=""),
            flag("--dry-run", "of prune: only say what would go"),
            option("--store", "URL", "another store, or its path", default=""),
            JSON,
        ),
        output="store",
        effects="writes",
        role="admin",
        examples="""\
Without --store it is a file of SQLite in your state folder, for this machine alone; several
machines share one of PostgreSQL: `store = "postgresql://runner@db/runner"` in your own settings.

examples:
  runner team store init                 make it, or bring an older one up to this version
  runner team store backup FILE          everything, as JSON lines; restore takes it anywhere
  runner team store rebuild              events and tasks again, from the journals of this machine
  runner team store check                whether it is whole, and says what the journals say
  runner team store prune --older-than 90d --dry-run
                                    which builds that are over would lose their journals' copies

prune takes whole builds, never of one that is not over, and leaves a build's own events, its tasks
and what is in clones; a build that is tried again has its journal copied again.
""",
    ),
    Operation(
        "team people",
        "who may do what at a team's page, and by which tokens",
        "runner.extensions.team.people_commands:execute_people",
        (
            word(
                "verb",
                "",
                "what is to be done",
                choices=("add", "list", "role", "token", "revoke", "remove", "log"),
            ),
            word("what", "NAME|ID", "whom; of revoke the id of a token", "*"),
            option("--role", "ROLE", "of add (default: viewer)", default=""),
            option("--label", "TEXT", "of token: what it is for, such as laptop", default=""),
            option("--days", "AGE", "of token: it ends after 90d, 12w (default: no)", default=""),
            option("--store", "URL", "another store, or its path", default=""),
            JSON,
        ),
        output="people",
        effects="writes",
        role="admin",
        examples="""\
roles, each may what the ones before it may:
  viewer      sees builds, what waits in them, and what happened
  reviewer    approves and rejects what waits
  operator    queues builds, cancels them, has them tried again
  admin       adds people, sets roles, makes and revokes tokens

A token is printed once, and the store keeps its digest alone: who loses it is given another one.

examples:
  runner team people add ada --role admin
  runner team people token ada --label laptop --days 90d     prints it; sign in with it at the page
  runner team people list                                    everybody, with their tokens
  runner team people role eve reviewer                       from the next request on
  runner team people revoke 3f9a01bc                         who is in by it is out
  runner team people remove eve                              with all tokens
  runner team people log                                     who did what to people and tokens
""",
    ),
    Operation(
        "team repo",
        "the repositories that a team builds: added, tried, listed",
        "runner.extensions.team.people_commands:execute_repo",
        (
            word("verb", "", "what is to be done", choices=("add", "list", "check", "remove")),
            word("what", "URL|NAME", "the address, later its name", "?", default=""),
            option("--name", "NAME", "what it is called (default: by its address)", default=""),
            option("--branch", "NAME", "builds begin on it (default: the remote's)", default=""),
            option("--plan", "PATH", "another plan than TASK-GRAPH.md", default=""),
            option("--credential", "VARIABLE", "where a worker finds the token", default=""),
            option("--store", "URL", "another store, or its path", default=""),
            JSON,
        ),
        output="repositories",
        effects="writes sends",
        role="admin",
        examples="""\
Whether it can be reached is tried at once, with your own login; whoever builds it needs one, too.
--credential NAME names a variable of the worker's environment with a token for an https address.

examples:
  runner team repo add git@forge.example:acme/shop.git
  runner team repo add https://forge.example/acme/shop.git --branch main --credential SHOP_TOKEN
  runner team repo check            every one of them is asked again
""",
    ),
    Operation(
        "team queue",
        "builds for a team's workers: queued, shown, answered",
        "runner.extensions.team.queue_commands:execute_queue",
        (
            word("what", "", "a repository, or list, show, cancel, retry, approve, reject, budget"),
            word("more", "ID", "the build, and for an answer its task; or a wish", "*"),
            option("--task", "ID", "only this task; again for more", times="again"),
            option("--branch", "NAME", "land there (default: feature/<short id>)", default=""),
            option("--timeout", "SECONDS", "workers may have it so long", kind=float, default=0),
            option("--priority", "N", "the higher the earlier (default: 0)", kind=int, default=0),
            option("--tags", "A,B", "a worker has to have all of them", default=""),
            flag("--all", "of list: what ended, too"),
            option("--dollars", "N/day|month", "of budget: what builds cost; none", default=""),
            option("--at-once", "N", "of budget: builds that may go on; none", default=""),
            option("--calls", "", "", default="", shown=False),
            option("--share", "N", "of budget: dollars of one claim", kind=float, default=0),
            option("--reason", "WHY", "of reject and retry of a task", default=""),
            option("--store", "URL", "another store, or its path", default=""),
            JSON,
        ),
        output="builds",
        effects="writes",
        role="operator",
        examples="""\
A worker (`runner team worker`) builds it on a branch of its own, feature/<short id>, and pushes it.
A repository that is called like a verb is queued by `runner team queue -- list`.

examples:
  runner team queue shop                      its whole plan
  runner team queue shop "customers export their bookings as CSV"
                                         drafted by the worker; the draft waits for an answer
  runner team queue shop --task TASK-003 --timeout 3600 --priority 5 --tags gpu
  runner team queue list [shop] [--all]       what waits and goes on; with --all what ended, too
  runner team queue show 8f3a                 one build: its tasks, its last events
  runner team queue cancel 8f3a             it ends within seconds; what landed stays on its branch
  runner team queue retry 8f3a                again; what is DONE on its branch is not built anew
  runner team queue approve 8f3a TASK-003     an answer to what waits in it
  runner team queue reject 8f3a TASK-003 --reason "keep the old name"
  runner team queue budget --dollars 200/month --at-once 4
                                         of the team (shop …: of a repository), all bounds anew
""",
    ),
    Operation(
        "team worker",
        "build what the team queued, one build at a time",
        "runner.extensions.team.queue_commands:execute_worker",
        (
            flag("--trust", "run the commands of all registered repositories"),
            option("--tags", "A,B", "what this machine offers", default=""),
            option("--bridge", "", "", default="", shown=False),
            flag("--once", "end after one build, or where none waits"),
            flag("--until-idle", "end where none waits"),
            option("--store", "URL", "another store, or its path", default=""),
            JSON,
        ),
        effects="writes runs sends",
        role="operator",
        examples="""\
It claims a build, clones its repository, takes the lease of its branch in the remote, and runs
the ordinary `runner run` there, as a process of its own. Commands run in the sandbox, as you.
SIGTERM hands the build back and ends it with exit 0; what landed stays on the build's branch.

examples:
  runner team worker --trust                   until it is ended
  runner team worker --trust --tags gpu,big    also for builds that ask for these
  runner team worker --trust --until-idle      until nothing waits any more
""",
    ),
)

SERVE_FLAGS = tuple(
    one._replace(group="for a team")
    for one in (
        flag("--team", "the team's store, for people who sign in"),
        option("--store", "URL", "another store, or its path", default=""),
        option("--listen", "ADDRESS", "not on 127.0.0.1 alone: needs TLS", default=""),
        option("--name", "HOST[:PORT]", "what browsers call it; again for more", times="again"),
        option("--tls-cert", "FILE", "the certificate with its chain (PEM)", default=""),
        option("--tls-key", "FILE", "its private key (PEM)", default=""),
        option("--behind-proxy", "ADDRESS", "a proxy there does TLS", default=""),
    )
)
STATS_FLAGS = (flag("--team", "of the team's store (`store`)"),)
