"""Every setting, declared once: its table, name, type, default, and who may set it.

`runner.toml` and Python read it as `limits.soft_seconds`, the environment as
`RUNNER_LIMITS_SOFT_SECONDS`. `old` is its name in files without tables, which is still read.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config import values
from runner.config.declarations import Declaration, SettingMark, SettingsTable, declare, setting
from runner.model import GateSpec, Network, Resource, ReviewMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.shell_rules import Permission
    from runner.config.values import McpServer, SecretSource
    from runner.model import Task
    from runner.secrets.load_rules import SecretShape

MINUTE = 60.0
COMMON, OWN, OWN_FILE, BOUND, CAPPED, FLOOR = SettingMark


class BuildSettings(SettingsTable, frozen=True):
    """Settings for choosing and retrying tasks."""

    jobs: int = setting(field(default_factory=values.count_cores), COMMON)
    """Tasks that run in parallel."""
    agents: int = setting(3, COMMON)
    """Agents and models that run in parallel, within `jobs`."""
    attempts: int = setting(5, COMMON)
    """Consecutive attempts before a task is BLOCKED."""
    backoff: float = setting(1.0, "Factor")
    """Factor for the usual pause before an agent or a model is called again; 0: no pause."""
    checkpoint_every: int = setting(5, "CheckpointCount")
    """Tasks between two full checkpoints, 3 to 5."""
    implementer: str = setting("", COMMON)
    """Implementer of a task that names none and has neither blocks nor Command."""
    command: str = setting("", COMMON)
    """Command of the `command` implementer for a task without Command."""
    plan_first: bool = setting(True, COMMON)
    """Whether agents and models make a plan before they write anything."""
    id_prefixes: tuple[str, ...] = setting((), "IdPrefixes")
    """Additional prefixes of task ids besides TASK and T."""
    task_graph: str = setting("", COMMON)
    """Path of the plan if it is not in its usual place."""
    extensions: tuple[str, ...] = setting((), "WordList", OWN_FILE)
    """Extensions to load from other distributions; only your own settings file sets it."""


class BudgetSettings(SettingsTable, frozen=True):
    """Settings for the budgets of tasks, attempts and runs."""

    minutes: float = setting(30, COMMON, BOUND)
    """Minutes of a task, all attempts together."""
    tokens: int | None = setting(None, BOUND)
    """Tokens of a task; none: no limit."""
    dollars: float | None = setting(None, COMMON, BOUND)
    """Dollars of a task; none: no limit."""
    tool_calls: int | None = setting(None, BOUND)
    """Tool calls of a task; none: no limit."""
    attempt_minutes: float | None = setting(None, BOUND)
    """Minutes of one attempt; tokens, dollars and tool calls likewise. None: no limit."""
    attempt_tokens: int | None = setting(None, BOUND)
    attempt_dollars: float | None = setting(None, BOUND)
    attempt_tool_calls: int | None = setting(None, BOUND)
    run_minutes: float | None = setting(None, BOUND)
    """Minutes of a run, all tasks together; the others likewise. None: no limit."""
    run_tokens: int | None = setting(None, BOUND)
    run_dollars: float | None = setting(None, COMMON, BOUND)
    run_tool_calls: int | None = setting(None, BOUND)


class NotifySettings(SettingsTable, frozen=True):
    """Settings for notifications at the end of a run."""

    command: str = setting("", COMMON, OWN, old="notify_command")
    """Command that gets the end of a run as one line of JSON on standard input."""
    on: tuple[str, ...] = setting(
        ("waits", "regression", "stopped"), "Endings", COMMON, OWN, old="notify_on"
    )
    """Ends that trigger the command: done, blocked, waits, regression, stopped."""


class GitSettings(SettingsTable, frozen=True):
    """Settings for commits and pushes of landings."""

    draft_pr: bool = setting(False, OWN)
    """Whether rejected work becomes a draft pull request, if there is a remote."""
    commit: str = setting("task", "task|manual", COMMON)
    """`task`: one commit for each landing; `manual`: you commit."""
    record: str = setting("end", "end|never")
    """When statuses, CHECKPOINT.md and proofs are committed: `end` of each run, or `never`."""
    sign_seconds: float = setting(30, "Seconds", OWN)
    """Timeout of a program that signs a commit for git."""
    sign_off: bool | None = setting(None)
    """Whether commits get your `Signed-off-by`; none: as in git's `format.signoff`."""
    publish: str = setting("", "OptionalLine", COMMON, OWN)
    """The remote whose branch each landing moves first, under a lease: one clone builds a branch
    at a time; `none`: what lands stays here until a person pushes it."""
    publish_at: str = setting("task", "task|end", OWN)
    """`task`: push each landing; `end`: push once at the end of a run that completed."""
    lease_seconds: float = setting(5 * MINUTE, "Seconds", OWN)
    """Seconds without a change after which a lease may be taken over."""


class LimitSettings(SettingsTable, frozen=True):
    """Settings for the limits of one command or proposal."""

    soft_seconds: float = setting(5 * MINUTE, "Seconds", COMMON)
    """Seconds after which a command is reported as still running."""
    idle_seconds: float = setting(10 * MINUTE, "Seconds", COMMON)
    """A command without output for this many seconds is ended."""
    hard_seconds: float = setting(30 * MINUTE, "Seconds", COMMON)
    """Timeout of a command."""
    gate_seconds: float = setting(300, "Seconds", COMMON)
    """Timeout of a gate; `types` and `lint` have their own."""
    types_seconds: float = setting(120, "Seconds")
    lint_seconds: float = setting(60, "Seconds")
    processes: int = setting(4096, OWN)
    """Maximum number of processes and threads of one command."""
    memory: str = setting("", "Size", COMMON, OWN)
    """Memory limit of one command, as `4GB`, if its task sets none; none: no limit."""
    processors: float = setting(0, OWN)
    """Processors that one command may use, all its processes together; 0: all."""
    disk: str = setting("", "Size", OWN)
    """Bytes that one command may write to disk, as `10GB`, before it is ended; none: no limit."""
    io: str = setting("", "Rate", OWN)
    """Read and write rate of one command, as `50MB/s`; none: no limit."""
    file_size: str = setting("8GB", "Size", OWN)
    """Largest file that a command may write."""
    proposal_file_size: str = setting("50MB", "Size", CAPPED)
    """Largest file that a task may propose."""
    proposal_size: str = setting("500MB", "Size", CAPPED)
    """Maximum total bytes of the files that a task proposes."""
    proposal_files: int = setting(10_000, CAPPED)
    """Maximum number of files that a task proposes."""


class ProofSettings(SettingsTable, frozen=True):
    """Settings for the proof of a task."""

    coverage: float = setting(70, "Percent", COMMON)
    """Minimum percent of the lines of a task's files that its tests cover."""
    project_coverage: float = setting(70, "Percent")
    """Minimum percent of the project's lines."""
    held_out_dir: str = setting("", "AbsolutePath", OWN)
    """Folder of held-out files, outside of every work tree; none: the state folder."""
    sast_block_at: str = setting("never", "low|medium|high|never")
    """Lowest severity of findings that rejects a write: `low`, `medium`, `high` or `never`."""
    strict_contracts: bool = setting(False)
    """Whether code needs a test contract, and a task of type api or data a contract."""
    require_proof: str = setting("agents", "always|agents|never", COMMON)
    """Whose work needs a proof by a command: `agents` (and models, commands), `always`, `never`."""
    require_contracts: str = setting("api", "ContractKinds")
    """Explicit task types that need Contracts: `api`, `api,data` or `none`."""
    assurance: str = setting("tests", "tests|independent", COMMON)
    """Minimum grade of work by agents, models and commands: `tests` or `independent`."""
    strict: bool = setting(False)
    """Whether pre-existing failures also reject a change."""
    coverage_missing: str = setting("warn", "warn|fail")
    """Effect of coverage that could not be measured: `warn` or `fail`."""
    contract_examples: int = setting(50)
    """Requests per operation that an OpenAPI contract tries."""
    default_gates: bool = setting(True, COMMON)
    """Whether gates that the repository declares apply if none are set."""
    gate_batch_seconds: float = setting(30, "Wait")
    """How long proven tasks wait for others, to run a whole test suite once for all; 0: never."""
    red_first: str = setting("auto", "auto|always|never", COMMON)
    """Whether a test must fail without the change: `auto` (asks about new work of agents,
    commands and models), `always` (refuses) or `never`. A task's own Red first wins."""
    held_out_land: bool = setting(True, OWN)
    """Whether held-out files land in the commit of their task; `false`: they stay in the store."""
    held_out_rounds: int = setting(3)
    """Failed held-out proofs returned to the implementer before a person must decide."""
    test_visibility: str = setting("held-out", "held-out|visible")
    """Tests of a separate author: `held-out`, or `visible` to the implementer (read-only)."""
    mutation: str = setting("warn", "Mutation", COMMON)
    """Whether to test mutants of the work of agents, commands and models: `off` or `warn`."""
    regression: str = setting("repair", "repair|halt")
    """When a change breaks another task: `repair` (the next attempt must fix it) or `halt`."""
    changed_dependents: str = setting("transitive", "direct|transitive")
    """How far a change is traced: `direct` or `transitive` dependents."""
    conservative: bool = setting(False)
    """Whether undecidable cases count as affected."""
    verify_at_end: str = setting("changed", "Verification", COMMON)
    """What a run proves again on the whole tree at its end: `changed`, `all` or `never`."""


class AgentSettings(SettingsTable, frozen=True):
    """Agent programs, and what they are shown."""

    command: str = setting("", COMMON, OWN, old="agent_command")
    """Command of the `agent` implementer: any agent program without a preset."""
    acp_command: str = setting("", OWN)
    """Command of an `acp:NAME` implementer: any agent that speaks the Agent Client Protocol."""
    env: tuple[str, ...] = setting((), "Names", COMMON, OWN, old="agent_env")
    """Additional environment variables that an agent program gets, such as its login's."""
    files: tuple[str, ...] = setting((), "HomePaths", COMMON, OWN, old="agent_files")
    """Files below HOME that are copied for an agent program, such as its login."""
    context_tokens: int = setting(8000)
    """Maximum tokens of the files in a brief; its other content has the same limit."""
    read_allow: tuple[str, ...] = setting((), "Globs", FLOOR)
    """Globs of tracked files that a brief may show; none: all except private ones."""


class ModelSettings(SettingsTable, frozen=True):
    """Models, and the server that has them."""

    plan: str = setting("", "ModelName", COMMON, old="model_plan")
    """Model that plans, as named by the agent program or the provider; none: its default."""
    execute: str = setting("", "ModelName", COMMON, old="model_execute")
    """Model that writes."""
    escalate: tuple[str, ...] = setting((), "ModelNames", COMMON, old="model_escalate")
    """Models that write, from small to strong: each failed proof moves to the next."""
    review: str = setting("", "ModelName", COMMON, old="model_review")
    """Model that reviews if `review.mode` is `auto` and `review.command` is not set."""
    draft: str = setting("", "ModelName", old="model_draft")
    """Model or agent program that drafts plans; none: the one that plans."""
    base_url: str = setting("", "ServerAddress", COMMON, OWN, old="model_base_url")
    """Address of the server for `openai-compatible:` models."""
    key_env: str = setting("", "VariableName", COMMON, OWN, old="model_key_env")
    """Name of the variable with that server's key; none: requests have no key."""
    calls: str = setting("", "CallRate", OWN, old="model_calls")
    """Rate of model calls in a run, all tasks together, as `6/minute`; none: no limit."""


class ReviewSettings(SettingsTable, frozen=True):
    """Settings for the review of changes and plans."""

    mode: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="review")
    """Who reviews changes: `prompt` (you), `auto` (`review.command` or `model.review`) or `off`;
    none: you on a terminal, else nobody."""
    at: str = setting("proof", "proof|write", old="review_at")
    """`proof`: once a task, after its proof; `write`: before the compile step of each write."""
    plan: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="plan_review")
    """Who approves a plan that an agent writes first; none: `prompt` on a terminal, else `off`."""
    command: str = setting("", COMMON, OWN, old="review_command")
    """Reviews a diff if `review.mode` is `auto`: exit 0 approves, else its output is the reason."""
    insisted: bool = False
    plan_insisted: bool = False
    """Whether `mode` and `plan` come from environment or flag; only those can loosen the rest."""


class SandboxSettings(SettingsTable, frozen=True):
    """Settings for the files and network that commands may access."""

    kind: str = setting(
        "auto", "auto|bubblewrap|landlock|seatbelt|none", COMMON, OWN, old="sandbox"
    )
    """`auto`, `bubblewrap`, `landlock`, `seatbelt` (macOS) or `none`."""
    read: tuple[str, ...] = setting((), "Paths", COMMON, OWN, old="sandbox_read")
    """Additional paths that a command in the sandbox may read."""
    worktree_include: tuple[str, ...] = setting((), "Globs", COMMON, OWN)
    """Patterns of ignored files to copy into scratch trees, besides `.worktreeinclude`."""
    worktree_include_remote: bool = setting(False, OWN)
    """Whether such files are also sent to the workers of a cluster."""
    network: Network = setting(Network.YES, "Reach", COMMON, OWN)
    """Maximum network access of any command, whatever the plan and gates request."""
    registries: tuple[str, ...] = setting((), "Hosts", COMMON, FLOOR)
    """Additional hosts of `Network: registries`. In a repository's settings: the only hosts."""
    pass_env: tuple[str, ...] = setting((), "Names", COMMON, OWN)
    """Names of additional environment variables that commands get."""
    secrets: tuple[str, ...] | None = setting(None, "Names", COMMON, OWN)
    """Names that a task may require as secrets; none: all that a trusted plan requires."""


class SkillSettings(SettingsTable, frozen=True):
    """Settings for the skills in a brief."""

    auto_discover: bool = setting(True, old="skills_auto_discover")
    """Whether briefs list the repository's own skills."""
    fallback_to_builtin: bool = setting(True, old="skills_fallback_to_builtin")
    """Whether built-in skills are used for names that the repository lacks."""
    folders: tuple[str, ...] = setting(("skills",), "Folders", old="skills_folders")
    """Project folders that are searched for skills."""


class TeamSettings(SettingsTable, frozen=True):
    """The team's store and its workers."""

    store: str = setting("", COMMON, OWN)
    """Team store: `postgresql://USER@HOST/DATABASE`, or a path; none: your own SQLite file."""
    four_eyes: bool = setting(False, COMMON, OWN)
    """Whether a team's approvals must come from a person other than the requester."""
    worker_default_branch: bool = setting(False, OWN)
    """Whether a team's builds may land on the branch that they start from."""
    worker_beat: float = setting(3.0, "Seconds", OWN)
    """Interval at which a worker reports to the store that it still has its build."""
    worker_ttl: float = setting(30.0, "Seconds", OWN)
    """Time without a report after which a worker's build is given to another worker."""
    worker_poll: float = setting(5.0, "Seconds", OWN)
    """Interval at which a worker polls the store, if nothing notifies it of news."""
    worker_cache: str = setting("10GB", "Size", OWN)
    """Size of a worker's repository cache, and of its clones of finished builds."""
    worker_credentials: tuple[str, ...] = setting((), "WordList", OWN)
    """Variables with a token, each with the only host that may get it: `TOKEN@HOST`."""
    worker_folders: tuple[str, ...] = setting((), "Paths", OWN)
    """Folders whose repositories a worker may build, if a path or `file://` is registered."""


class ArtifactsSettings(SettingsTable, frozen=True):
    """Settings for the storage of a run's files."""

    store: str = setting("", "StorePlace", old="artifacts_store")
    """Store of run artifacts: `s3://BUCKET/PREFIX`, or a folder; none: not stored."""


class EventSettings(SettingsTable, frozen=True):
    """Settings for the receivers of events."""

    nats: str = setting("", "NatsAddress", COMMON, OWN, old="events")
    """Destination of events: NATS JetStream, as `nats://HOST:4222`; `none`: not sent."""
    days: int = setting(30, "EventDays", OWN, old="events_days")
    """Days for which the stream keeps them, 7 to 90."""
    key_env: str = setting("", "VariableName", OWN, old="events_key_env")
    """Name of the variable with that server's token; none: requests have no token."""
    webhook: str = setting("", "ReceiverAddress", COMMON, OWN)
    """Address to which each event is posted, signed; `none`: not posted."""
    webhook_key_env: str = setting("", "VariableName", OWN)
    """Name of the variable with the key that signs webhooks."""


class TelemetrySettings(SettingsTable, frozen=True):
    """Traces of runs."""

    otlp: str = setting("", "ReceiverAddress", COMMON, OWN, old="telemetry_otlp")
    """Collector of traces, as `http://HOST:4318`; `none`: not sent."""
    content: bool = setting(False, OWN, old="telemetry_content")
    """Whether traces also contain commands, findings and summaries."""


class ClusterSettings(SettingsTable, frozen=True):
    """Settings for the place where attempts run."""

    executor: str = setting("threads", "ExecutorName", COMMON, OWN)
    """Where attempts run: `inline`, `threads`, `dask`, or `dask:` with an address or file."""
    insecure: bool = setting(False, OWN, old="insecure_cluster")
    """Whether a cluster on a network may be used without TLS."""
    tls_ca: str = setting("", OWN, old="dask_tls_ca")
    """TLS files: authority, certificate and key; none: those of Dask's own configuration."""
    tls_cert: str = setting("", OWN, old="dask_tls_cert")
    tls_key: str = setting("", OWN, old="dask_tls_key")


class FloorSettings(SettingsTable, frozen=True):
    """The minimum that a repository requires, by the settings' old names; None: nothing."""

    permission: tuple[Permission, ...] = ()
    review: ReviewMode | None = None
    plan_review: ReviewMode | None = None
    registries: tuple[str, ...] | None = None
    """The only hosts of these that the repository allows."""
    secret_formats: tuple[SecretShape, ...] = ()
    """Formats that reject a write but hide nothing in what a person sees."""
    read_allow: tuple[str, ...] | None = None
    """Globs of the only files that the repository allows to be shown."""


class Settings(SettingsTable, frozen=True):
    """Every setting of a run, by table; times are in seconds unless named otherwise."""

    build: BuildSettings = field(default_factory=BuildSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    notify: NotifySettings = field(default_factory=NotifySettings)
    git: GitSettings = field(default_factory=GitSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    proof: ProofSettings = field(default_factory=ProofSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    review: ReviewSettings = field(default_factory=ReviewSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    skills: SkillSettings = field(default_factory=SkillSettings)
    team: TeamSettings = field(default_factory=TeamSettings)
    artifacts: ArtifactsSettings = field(default_factory=ArtifactsSettings)
    events: EventSettings = field(default_factory=EventSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    floor: FloorSettings = field(default_factory=FloorSettings)
    gates: tuple[GateSpec, ...] = setting((), "Gates", COMMON)
    """Gates that apply to every task."""
    gates_by_type: tuple[tuple[str, tuple[GateSpec, ...]], ...] = ()
    """Gates of one task type; one with the name of a general gate replaces it."""
    permission: tuple[Permission, ...] = setting((), "Rules", COMMON, FLOOR)
    """What the tools of a model may do; the last matching rule wins."""
    mcp: tuple[McpServer, ...] = setting((), "McpServers", COMMON, OWN)
    """MCP servers whose tools a model may call."""
    secret: tuple[SecretSource, ...] = setting((), "Leases", COMMON, OWN)
    """Commands that print secrets which tasks require: run when an attempt needs one, by name."""
    secret_formats: tuple[SecretShape, ...] = setting((), "SecretFormats", FLOOR)
    """Credential formats besides the built-in ones."""
    compile: tuple[tuple[str, str], ...] = setting((), "Compilers")
    """Additional compilers: (glob of paths, command), where `{file}` is the path."""
    resources: tuple[Resource, ...] = setting((), "Supplies", COMMON)
    """Available amount of each scarce resource."""

    def gates_for(self, task_type: str) -> tuple[GateSpec, ...]:
        """Return the project's gates for a task of this type, in their written order."""
        own = dict(self.gates_by_type).get(task_type.casefold(), ())
        replaced = {gate.name for gate in own}
        return (*(gate for gate in self.gates if gate.name not in replaced), *own)

    def seconds_for(self, gate: GateSpec) -> float:
        """Return the timeout of a gate in seconds: its own, else the default of its name."""
        by_name = {"types": self.limits.types_seconds, "lint": self.limits.lint_seconds}
        return gate.seconds or by_name.get(gate.name.casefold(), self.limits.gate_seconds)

    def network_for(self, asked: Network) -> Network:
        """Return the network access for a command's request, limited by the person's setting."""
        reaches = tuple(Network)
        return min(asked, self.sandbox.network, key=reaches.index)

    def secrets_for(self, task: Task, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the secrets that a task requires and settings permit, as names and values.

        What a command of the person's own says is not among them (`run/secret_leases`).
        """
        leased = {one.name for one in self.secret}
        needed = {need.name for need in task.requires if need.kind == "secret"} - leased
        permitted = (
            needed if self.sandbox.secrets is None else needed.intersection(self.sandbox.secrets)
        )
        return {name: environ[name] for name in sorted(permitted) if name in environ}

    def plan_review_of(self, default: ReviewMode) -> ReviewMode:
        """Return the review mode of a task's own plan; `default` if none is set."""
        if self.review.plan_insisted and self.review.plan is not None:
            return self.review.plan
        return values.tightest(self.review.plan or default, self.floor.plan_review)

    def with_model(self, **named: Any) -> Settings:
        """Return a copy of the settings with other models."""
        return replace(self, model=replace(self.model, **named))

    @property
    def has_receivers(self) -> bool:
        """Whether events are sent to anybody."""
        return bool(self.events.nats or self.events.webhook or self.telemetry.otlp)

    @property
    def read_allowed(self) -> tuple[tuple[str, ...], ...]:
        """Lists of globs, of which a file must be in each to be shown."""
        return tuple(filter(None, (self.agent.read_allow, self.floor.read_allow or ())))

    def review_of(self, asked: ReviewMode | None, default: ReviewMode) -> ReviewMode:
        """Return the review mode of a task with this mode in its plan; `default` if none is set.

        Plan and repository only tighten; environment and flags have the last word.
        """
        if self.review.insisted and self.review.mode is not None:
            return self.review.mode
        return values.tightest(self.review.mode or default, self.floor.review, asked)


class Loaded(Struct, frozen=True):
    """Settings and where each of them came from."""

    settings: Settings
    sources: Mapping[str, str]
    """By setting: `default`, `runner.toml:3`, `environment RUNNER_BUILD_JOBS` or `--jobs`."""
    notes: tuple[str, ...] = ()
    """Settings that were ignored, and why."""

    def value_of(self, name: str) -> object:
        """Return the value of a setting by its name, such as `limits.soft_seconds`."""
        return attrgetter(name)(self.settings)

    def describe(self, name: str) -> tuple[object, str, bool]:
        """Return the value of a setting, its source, and whether people often need it."""
        marks = declarations()[name].marks if name in declarations() else ()
        return self.value_of(name), self.sources.get(name, "default"), COMMON in marks

    def list_given(self) -> tuple[str, ...]:
        """Return the names of the settings that differ from their defaults."""
        usual = Loaded(Settings(), {})
        return tuple(one for one in list_names() if self.value_of(one) != usual.value_of(one))

    def is_from_repository(self, name: str) -> bool:
        """Return whether a setting comes from the repository."""
        return self.sources.get(name, "").startswith(("runner.toml", "pyproject.toml"))


@cache
def declarations() -> Mapping[str, Declaration]:
    """Return every setting by name."""
    return {one.name: one for one in declare(Settings())}


def list_names() -> tuple[str, ...]:
    """Return the names of all settings, including derived ones and floors."""
    floors = (f"floor.{name}" for name in FloorSettings.__struct_fields__)
    return (*declarations(), "gates_by_type", *floors)
