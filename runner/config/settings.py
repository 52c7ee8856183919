"""What holds for a run: every setting with its default, and the loading of them.

Later over earlier: the user's `~/.config/runner/runner.toml`, the repository's `runner.toml` or
`[tool.runner]` in its pyproject.toml, environment `RUNNER_<NAME>`, flags. Values are validated
by pydantic-settings, which takes 160 ms to import; so a validated result is kept by the digest
of all inputs, and where nothing is set there is nothing to validate.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING

from runner.config import layers, values
from runner.config.paths import Places
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import GateSpec, Network, Resource, ReviewMode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.config import merge_layers, values
    from runner.config.shell_rules import Permission
    from runner.config.values import McpServer, SecretSource
    from runner.extensions import registry
    from runner.model import Task
    from runner.secrets import load_rules
    from runner.secrets.load_rules import SecretShape
else:
    load_rules = lazy_module("runner.secrets.load_rules")
    registry = lazy_module("runner.extensions.registry")
    merge_layers = lazy_module("runner.config.merge_layers")
    values = lazy_module("runner.config.values")

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of a run; times are in seconds unless named otherwise."""

    jobs: int = field(default_factory=values.count_cores)
    """Tasks at once."""
    agents: int = 3
    """Agents and models at once, within `jobs`."""
    attempts: int = 5
    """Attempts in a row before a task is BLOCKED."""
    minutes: float = 30
    """Minutes of a task, all attempts together."""
    tokens: int | None = None
    """Tokens of a task; none: no limit."""
    dollars: float | None = None
    """Dollars of a task; none: no limit."""
    tool_calls: int | None = None
    """Tool calls of a task; none: no limit."""
    attempt_minutes: float | None = None
    """Minutes of one attempt, and so on: limits beside those of the task."""
    attempt_tokens: int | None = None
    attempt_dollars: float | None = None
    attempt_tool_calls: int | None = None
    run_minutes: float | None = None
    """Minutes of a run, all its tasks together, and so on."""
    run_tokens: int | None = None
    run_dollars: float | None = None
    run_tool_calls: int | None = None
    backoff: float = 1.0
    """Times the usual pause before an agent or a model is called again; 0: no pause."""
    notify_command: str = ""
    """The command that gets the end of a run as one line of JSON on standard input."""
    notify_on: tuple[str, ...] = ("waits", "regression", "stopped")
    """At which ends: done, blocked, waits, regression, stopped."""
    draft_pr: bool = False
    """Whether work that did not pass becomes a draft pull request, where there is a remote."""
    soft_seconds: float = 5 * MINUTE
    """After this a command is reported as still running."""
    idle_seconds: float = 10 * MINUTE
    """A command that says nothing for so long is ended."""
    hard_seconds: float = 30 * MINUTE
    """A command is ended after this."""
    gate_seconds: float = 300
    types_seconds: float = 120
    lint_seconds: float = 60
    gates: tuple[GateSpec, ...] = ()
    """Gates of every task."""
    gates_by_type: tuple[tuple[str, tuple[GateSpec, ...]], ...] = ()
    """Gates of the tasks of one type; one that is named as a general gate replaces it."""
    coverage: float = 70
    """Percent of the lines of a task's files that its tests must reach."""
    project_coverage: float = 70
    """Percent of the project's lines."""
    checkpoint_every: int = 5
    """Tasks from one full checkpoint to the next, 3 to 5."""
    implementer: str = ""
    """Who implements a task that names nobody and has neither blocks nor Command."""
    command: str = ""
    """What the `command` implementer runs for a task without Command."""
    agent_command: str = ""
    """What the `agent` implementer runs: any agent program that no preset knows."""
    acp_command: str = ""
    """What an `acp:NAME` implementer starts: any agent that speaks the Agent Client Protocol."""
    agent_env: tuple[str, ...] = ()
    """Names of more environment variables that an agent program gets, such as its login's."""
    agent_files: tuple[str, ...] = ()
    """Files below HOME of which an agent program gets a copy, such as its login."""
    model_plan: str = ""
    """The model that plans, as the agent program or the provider names it; none: its default."""
    model_execute: str = ""
    """The model that writes."""
    model_escalate: tuple[str, ...] = ()
    """Models that write, from small to strong: the next one after each failed proof."""
    model_review: str = ""
    """The model that reviews where review is `auto` and no `review_command` is set."""
    model_draft: str = ""
    """The model that drafts plans, or the agent program; none: the one that plans."""
    model_base_url: str = ""
    """Address of the server that `openai-compatible:` models are asked of."""
    model_key_env: str = ""
    """Name of the variable with that server's key; none: it is asked without one."""
    model_calls: str = ""
    """How often a run calls models, all its tasks together, as `6/minute`; none: no bound."""
    permission: tuple[Permission, ...] = ()
    """What the tools of a model may do: of the rules that match, the last wins."""
    permission_floor: tuple[Permission, ...] = ()
    """The repository's rules, which only tighten."""
    mcp: tuple[McpServer, ...] = ()
    """Servers whose tools a model may call."""
    review: ReviewMode | None = None
    """What the person chose; none: see `review_of`."""
    review_floor: ReviewMode | None = None
    """What the repository asks for at least."""
    review_insisted: bool = False
    """Whether `review` comes from environment or flag, which alone loosen what others ask."""
    review_at: str = "proof"
    """`proof`: once a task, of proven bytes; `write`: before the compile step of each write."""
    plan_first: bool = True
    """Whether agents and models come to a plan before they write anything."""
    plan_review: ReviewMode | None = None
    """Who approves such a plan; none: `prompt` on a terminal, else `off`."""
    plan_review_floor: ReviewMode | None = None
    """What the repository asks for at least."""
    plan_review_insisted: bool = False
    """Whether `plan_review` comes from environment or flag."""
    review_command: str = ""
    """What reviews a diff where review is `auto`: exit 0 approves, else it says why not."""
    sandbox: str = "auto"
    """`auto`, `bubblewrap`, `landlock`, `seatbelt` (macOS) or `none`."""
    sandbox_read: tuple[str, ...] = ()
    """More paths that a command in the sandbox may read."""
    held_out_dir: str = ""
    """Where held-out files lie, outside of every work tree; none: the state folder."""
    worktree_include: tuple[str, ...] = ()
    """Patterns of ignored files that are copied into scratch trees, beside `.worktreeinclude`."""
    worktree_include_remote: bool = False
    """Whether such files are sent to the workers of a cluster, too."""
    processes: int = 4096
    """Processes and threads of one command at once."""
    memory: str = ""
    """Memory of one command, as `4GB`, where its task names none; none: no limit."""
    processors: float = 0
    """Processors that one command may keep busy, all its processes together; 0: all there are."""
    disk: str = ""
    """Bytes that one command may write to disk, as `10GB`, before it is ended; none: no limit."""
    io: str = ""
    """How fast one command may read, and write, as `50MB/s`; none: as fast as it goes."""
    file_size: str = "8GB"
    """The largest file that a command may write."""
    proposal_file_size: str = "50MB"
    """The largest file that a task may propose."""
    proposal_size: str = "500MB"
    """The most bytes of all files that a task proposes."""
    proposal_files: int = 10_000
    """The most files that a task proposes."""
    network: Network = Network.YES
    """The most that any command may reach, whatever plan and gates ask for."""
    registries: tuple[str, ...] = ()
    """More hosts that `Network: registries` reaches, beside the usual ones."""
    registries_only: tuple[str, ...] | None = None
    """The only ones of all these that the repository wants reached; none: it says nothing."""
    pass_env: tuple[str, ...] = ()
    """Names of more environment variables that commands get."""
    secrets: tuple[str, ...] | None = None
    """Names that a task may require as secrets; none: whichever a trusted plan requires."""
    secret: tuple[SecretSource, ...] = ()
    """Commands that say secrets which tasks require: asked when an attempt needs one, by name."""
    secret_formats: tuple[SecretShape, ...] = ()
    """Formats of credentials beside the built-in ones."""
    secret_formats_floor: tuple[SecretShape, ...] = ()
    """The repository's, which refuse a write and hide nothing that a person is shown."""
    id_prefixes: tuple[str, ...] = ()
    """More prefixes of task ids, beside TASK and T."""
    task_graph: str = ""
    """The plan's path, where it is not in its usual place."""
    context_tokens: int = 8000
    """Tokens of the files that a brief shows; what it tells beside them is bounded by the same."""
    read_allow: tuple[str, ...] = ()
    """Globs of tracked files that a brief may show; none: all but private ones."""
    read_allow_floor: tuple[str, ...] | None = None
    """Globs that the repository wants nothing else shown of; none: it says nothing."""
    skills_auto_discover: bool = True
    """Whether the repository's own skills are listed in briefs."""
    skills_fallback_to_builtin: bool = True
    """Whether skills that come with the runner stand in for names it has none of."""
    skills_folders: tuple[str, ...] = ("skills",)
    """Folders of the project in which skills are looked for."""
    compile: tuple[tuple[str, str], ...] = ()
    """More compilers: (glob of paths, command), where `{file}` stands for the path."""
    resources: tuple[Resource, ...] = ()
    """How much of each scarce thing there is."""
    sast_block_at: str = "never"
    """Findings of this severity and above refuse a write: `low`, `medium`, `high` or `never`."""
    strict_contracts: bool = False
    """Whether a task that writes code needs a test contract, and one of type api or data a
    contract."""
    require_proof: str = "agents"
    """Whose work must be proven by a command at least: `agents` (what commands, agents and models
    write), `always` (everything; code by tests or a contract) or `never`."""
    require_contracts: str = "api"
    """Written types of tasks that need Contracts: `api`, `api,data` or `none`."""
    assurance: str = "tests"
    """The grade without which work of agents, models and commands waits for a person: `tests`
    (no more than a proof) or `independent`."""
    strict: bool = False
    """Whether a failure that was there before a change refuses it too."""
    coverage_missing: str = "warn"
    """What coverage that could not be measured does: `warn` or `fail`."""
    contract_examples: int = 50
    """Requests that an OpenAPI contract tries per operation."""
    default_gates: bool = True
    """Whether the gates that the repository declares about itself hold where none are set."""
    red_first: str = "auto"
    """Whether a test must fail without the change: `auto` (a question, of new work by agents,
    commands and models), `always` (refuses) or `never`; a task's own Red first wins."""
    held_out_land: bool = True
    """Whether held-out files land with their task; no repository may publish or withhold them."""
    held_out_rounds: int = 3
    """Failed held-out proofs that go back to the implementer before a person is asked."""
    test_visibility: str = "held-out"
    """What tests of a separate author are: `held-out`, or `visible` to the implementer, which may
    not change them."""
    mutation: str = "warn"
    """Whether small changes to the task's functions are tried: `off` or `warn` (of what agents,
    commands and models wrote; a question where no test notices any). Stub first always runs."""
    regression: str = "repair"
    """What a change does that breaks another task: `repair` (the next attempt's) or `halt`."""
    changed_dependents: str = "transitive"
    """How far a change is traced: `direct` or `transitive` dependents."""
    conservative: bool = False
    """Whether what cannot be decided counts as affected."""
    commit: str = "task"
    """`task`: one commit at each landing; `manual`: the person commits."""
    record: str = "end"
    """When statuses, CHECKPOINT.md and proofs without a commit are committed: `end` of each run
    that changed them, or `never` (clones then know tasks by their commits alone)."""
    sign_seconds: float = 30
    """A program that signs a commit for git is stopped after this."""
    sign_off: bool | None = None
    """Whether commits get the person's `Signed-off-by`; none: as git's `format.signoff` says."""
    publish: str = ""
    """The remote whose branch each landing moves first, under a lease: one clone at a time builds
    a branch, on any machine; `none`: what lands stays here until a person pushes it."""
    publish_at: str = "task"
    """`task`: with each landing; `end`: with one push at the end of a run that did all of it."""
    lease_seconds: float = 5 * MINUTE
    """A lease that stays unchanged for so long may be taken over."""
    extensions: tuple[str, ...] = ()
    """Extensions of other distributions that are loaded; only your own settings file sets it."""
    store: str = ""
    """The team's store: `postgresql://USER@HOST/DATABASE`, or a path; none: SQLite, kept by you."""
    four_eyes: bool = False
    """Whether a team has what waits approved by somebody else than who asked for it."""
    worker_default_branch: bool = False
    """Whether a team's builds may land on the branch that they begin on."""
    worker_beat: float = 3.0
    """A worker tells the store so often that it still has its build."""
    worker_ttl: float = 30.0
    """A build whose worker was not heard of for so long is handed on."""
    worker_poll: float = 5.0
    """A worker looks into the store so often by itself, where nothing tells it of news."""
    worker_cache: str = "10GB"
    """What a worker keeps of repositories, and as much of clones of builds that are over."""
    worker_credentials: tuple[str, ...] = ()
    """Variables with a token, each with the one host that may get it: `TOKEN@HOST`."""
    worker_folders: tuple[str, ...] = ()
    """Folders whose repositories a worker builds, where a path or `file://` is registered."""
    artifacts_store: str = ""
    """Where what a run leaves is kept: `s3://BUCKET/PREFIX`, or a folder; none: nowhere."""
    events: str = ""
    """Where events go: NATS JetStream, as `nats://HOST:4222`; `none`: nowhere."""
    events_days: int = 30
    """For how many days the stream keeps them, 7 to 90."""
    events_key_env: str = ""
    """Name of the variable with that server's token; none: it is asked without one."""
    webhook: str = ""
    """The address that each event is posted to, signed; `none`: nowhere."""
    webhook_key_env: str = ""
    """Name of the variable with the key that webhooks are signed with."""
    telemetry_otlp: str = ""
    """The collector that traces go to, as `http://HOST:4318`; `none`: nowhere."""
    telemetry_content: bool = False
    """Whether traces have commands, findings and summaries in them, too."""
    verify_at_end: str = "changed"
    """What a run that built everything proves once more on the whole tree: `changed`, `all`,
    `never`."""
    executor: str = "threads"
    """Where attempts run: `inline`, `threads`, `dask`, or `dask:` with an address or scheduler
    file."""
    insecure_cluster: bool = False
    """Whether a cluster on a network may be used without TLS."""
    dask_tls_ca: str = ""
    """TLS files for a cluster: the authority, this side's certificate and its key; none: what
    Dask's own configuration names."""
    dask_tls_cert: str = ""
    dask_tls_key: str = ""

    def gates_for(self, task_type: str) -> tuple[GateSpec, ...]:
        """The project's gates for a task of this type, in their written order."""
        own = dict(self.gates_by_type).get(task_type.casefold(), ())
        replaced = {gate.name for gate in own}
        return (*(gate for gate in self.gates if gate.name not in replaced), *own)

    def seconds_for(self, gate: GateSpec) -> float:
        """How many seconds a gate may take: what it says itself, else the default of its name."""
        by_name = {"types": self.types_seconds, "lint": self.lint_seconds}
        return gate.seconds or by_name.get(gate.name.casefold(), self.gate_seconds)

    def network_for(self, asked: Network) -> Network:
        """What a command may reach that asks for `asked`: never more than the person allows."""
        reaches = tuple(Network)
        return min(asked, self.network, key=reaches.index)

    def secrets_for(self, task: Task, environ: Mapping[str, str]) -> dict[str, str]:
        """Names and values of the secrets that a task requires, and that the person lets it have.

        What a command of the person's own says is not among them (`run/secret_leases`).
        """
        leased = {one.name for one in self.secret}
        needed = {need.name for need in task.requires if need.kind == "secret"} - leased
        permitted = needed if self.secrets is None else needed.intersection(self.secrets)
        return {name: environ[name] for name in sorted(permitted) if name in environ}

    def plan_review_of(self, default: ReviewMode) -> ReviewMode:
        """Who approves a task's own plan, where nobody chose: `default`."""
        if self.plan_review_insisted and self.plan_review is not None:
            return self.plan_review
        return values.tightest(self.plan_review or default, self.plan_review_floor)

    @property
    def has_doors(self) -> bool:
        """Whether events are sent to anybody."""
        return bool(self.events or self.webhook or self.telemetry_otlp)

    @property
    def read_allowed(self) -> tuple[tuple[str, ...], ...]:
        """Lists of globs, of which a file must be in each to be shown."""
        return tuple(filter(None, (self.read_allow, self.read_allow_floor or ())))

    def review_of(self, asked: ReviewMode | None, default: ReviewMode) -> ReviewMode:
        """Who reviews a task whose plan asks for `asked`, where nobody chose: `default`.

        Plan and repository only tighten; environment and flags have the last word.
        """
        if self.review_insisted and self.review is not None:
            return self.review
        return values.tightest(self.review or default, self.review_floor, asked)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and where each of them came from."""

    settings: Settings
    sources: Mapping[str, str]
    """Setting to `default`, `runner.toml:3`, `environment RUNNER_JOBS` or `--jobs`."""
    notes: tuple[str, ...] = ()
    """What was set and does not count, and why."""


NAMES = tuple(entry.name for entry in fields(Settings))
_DERIVED = frozenset(
    (
        *("gates_by_type", "review_floor", "review_insisted", "registries_only"),
        *("permission_floor", "plan_review_floor", "plan_review_insisted", "read_allow_floor"),
        "secret_formats_floor",
    )
)
"""Fields that no source sets by this name."""
SETTABLE = tuple(name for name in NAMES if name not in _DERIVED)


def load_settings(
    root: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    cache: Path | None = None,
) -> Loaded:
    """The settings that hold in `root`, where `cache` may keep the validated result.

    Raises RunnerError that reports every mistake of every source together.
    """
    given = layers.gather(root, Places.of(environ), environ, flags, SETTABLE)
    if all(values.is_plain(layer) for layer in given):
        return _make_loaded(values.plainly_merged(given))
    key = values.key_of(given, NAMES)
    found = values.read(cache, key)
    if found is None:
        found = merge_layers.merge_layers(given, SETTABLE)
        values.write(cache, key, found)
    return _make_loaded(found)


def _make_loaded(merged: values.MergedSettings) -> Loaded:
    sources = dict.fromkeys(NAMES, "default") | dict(merged.sources)
    settings = Settings(**values.to_field_types(merged.values))
    take_up_secret_formats(settings)
    registry.name_others(settings.extensions)
    return Loaded(settings, sources, merged.notes)


def take_up_secret_formats(settings: Settings) -> None:
    """Let the formats of these settings hold in this process: whatever it tells is redacted."""
    if formats := (*settings.secret_formats, *settings.secret_formats_floor):
        load_rules.add_shapes(formats)
