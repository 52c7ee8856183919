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

from runner.config import setting_values
from runner.config.declarations import Declaration, SettingMark, SettingsTable, declare, setting
from runner.model import GateSpec, Network, Resource, ReviewMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.setting_values import McpServer, SecretSource
    from runner.config.shell_rules import Permission
    from runner.model import Task
    from runner.secrets.load_rules import SecretShape

MINUTE = 60.0
COMMON, OWN, OWN_FILE, BOUND, CAPPED, FLOOR = SettingMark


class BuildSettings(SettingsTable, frozen=True):
    """Settings for choosing and retrying tasks."""

    jobs: int = setting(field(default_factory=setting_values.count_cores), COMMON)
    """Maximum number of tasks that run in parallel; the default is the number of cores."""
    agents: int = setting(3, COMMON)
    """Maximum number of agents and models that run in parallel, within `jobs`."""
    attempts: int = setting(5, COMMON)
    """Maximum attempts in a row before a task is BLOCKED; a task's own Budget overrides it."""
    backoff: float = setting(1.0, "Factor")
    """Factor on the pause before a failed agent or model is called again; 0: no pause."""
    checkpoint_every: int = setting(5, "CheckpointCount")
    """Number of finished tasks between two full parts of CHECKPOINT.md, 3 to 5."""
    implementer: str = setting("", COMMON)
    """Default implementer: of tasks that name none and have neither blocks nor Command."""
    command: str = setting("", COMMON)
    """Default shell command of the `command` implementer, for tasks without Command."""
    plan_first: bool = setting(True, COMMON)
    """Whether agents and models plan a task before they build it; see `review.plan`."""
    id_prefixes: tuple[str, ...] = setting((), "IdPrefixes")
    """Additional prefixes of task IDs, such as `FEAT`, besides TASK and T."""
    task_graph: str = setting("", COMMON)
    """Path of the plan; none: `TASK-GRAPH.md` or `artifacts/build/TASK-GRAPH.md`."""
    extensions: tuple[str, ...] = setting((), "WordList", OWN_FILE)
    """Names of the extensions to load from other installed packages."""


class BudgetSettings(SettingsTable, frozen=True):
    """Settings for the budgets of tasks, attempts and runs."""

    minutes: float = setting(30, COMMON, BOUND)
    """Maximum minutes of a task, all its attempts together."""
    tokens: int | None = setting(None, BOUND)
    """Maximum tokens of a task, all its attempts together; none: no limit."""
    dollars: float | None = setting(None, COMMON, BOUND)
    """Maximum US dollars of a task, all its attempts together; none: no limit."""
    tool_calls: int | None = setting(None, BOUND)
    """Maximum tool calls of a task, all its attempts together; none: no limit."""
    attempt_minutes: float | None = setting(None, BOUND)
    """Maximum minutes, tokens, dollars and tool calls of one attempt; none: no limit."""
    attempt_tokens: int | None = setting(None, BOUND)
    attempt_dollars: float | None = setting(None, BOUND)
    attempt_tool_calls: int | None = setting(None, BOUND)
    run_minutes: float | None = setting(None, BOUND)
    """Maximum minutes, tokens, dollars and tool calls of a whole run; none: no limit."""
    run_tokens: int | None = setting(None, BOUND)
    run_dollars: float | None = setting(None, COMMON, BOUND)
    run_tool_calls: int | None = setting(None, BOUND)


class NotifySettings(SettingsTable, frozen=True):
    """Settings for notifications at the end of a run."""

    command: str = setting("", COMMON, OWN, old="notify_command")
    """Shell command for the end of a run; gets one line of JSON on standard input."""
    on: tuple[str, ...] = setting(
        ("waits", "regression", "stopped"), "Endings", COMMON, OWN, old="notify_on"
    )
    """Results that start the command: `done`, `blocked`, `waits`, `regression`, `stopped`."""


class GitSettings(SettingsTable, frozen=True):
    """Settings for commits and pushes of landings."""

    draft_pr: bool = setting(False, OWN)
    """Whether a run opens draft pull requests, with `gh`, for work that did not pass."""
    commit: str = setting("task", "task|manual", COMMON)
    """`task`: commit each landing. `manual`: only write the files; you commit."""
    record: str = setting("end", "end|never")
    """When to commit statuses, CHECKPOINT.md and proofs: at the `end` of a run, or `never`."""
    sign_seconds: float = setting(30, "Seconds", OWN)
    """Maximum seconds that a program may take to sign a commit."""
    sign_off: bool | None = setting(None)
    """Whether commits get a `Signed-off-by` line; none: as git's `format.signoff` says."""
    publish: str = setting("", "OptionalLine", COMMON, OWN)
    """Remote to push each landing to, such as `origin`; one clone at a time builds a branch. None:
    the runner does not push."""
    publish_at: str = setting("task", "task|end", OWN)
    """`task`: push each landing. `end`: push once, when a run has completed."""
    lease_seconds: float = setting(5 * MINUTE, "Seconds", OWN)
    """Seconds without renewal after which another clone may take over a branch's lease."""


class LimitSettings(SettingsTable, frozen=True):
    """Settings for the limits of one command or proposal."""

    soft_seconds: float = setting(5 * MINUTE, "Seconds", COMMON)
    """Seconds after which the runner reports that a command is still running."""
    idle_seconds: float = setting(10 * MINUTE, "Seconds", COMMON)
    """Maximum seconds without output; then the runner ends the command."""
    hard_seconds: float = setting(30 * MINUTE, "Seconds", COMMON)
    """Maximum seconds of one command; a task's own Timeout overrides it."""
    gate_seconds: float = setting(300, "Seconds", COMMON)
    """Maximum seconds of a gate without its own timeout; `types` and `lint` have own ones."""
    types_seconds: float = setting(120, "Seconds")
    lint_seconds: float = setting(60, "Seconds")
    processes: int = setting(4096, OWN)
    """Maximum number of processes and threads of one command."""
    memory: str = setting("", "Size", COMMON, OWN)
    """Maximum memory of one command, such as `4GB`; a task's own Uses overrides it."""
    processors: float = setting(0, OWN)
    """Maximum number of processors that one command may use, such as `1.5`; 0: all."""
    disk: str = setting("", "Size", OWN)
    """Maximum bytes that one command may write to disk, such as `10GB`; none: no limit."""
    io: str = setting("", "Rate", OWN)
    """Maximum read and write rate of one command, such as `50MB/s`; none: no limit."""
    file_size: str = setting("8GB", "Size", OWN)
    """Maximum size of a file that a command writes."""
    proposal_file_size: str = setting("50MB", "Size", CAPPED)
    """Maximum size of one file in a task's change."""
    proposal_size: str = setting("500MB", "Size", CAPPED)
    """Maximum total size of the files in a task's change."""
    proposal_files: int = setting(10_000, CAPPED)
    """Maximum number of files in a task's change."""


class ProofSettings(SettingsTable, frozen=True):
    """Settings for the proof of a task."""

    coverage: float = setting(70, "Percent", COMMON)
    """Minimum percent of a task's own lines that its tests run; its Coverage overrides it."""
    project_coverage: float = setting(70, "Percent")
    """Minimum percent of the lines of all tasks, when the runner verifies the whole tree."""
    held_out_dir: str = setting("", "AbsolutePath", OWN)
    """Absolute path of the folder for held-out files; none: the runner's state folder."""
    sast_block_at: str = setting("never", "low|medium|high|never")
    """Minimum severity of findings that reject a write: `low`, `medium`, `high` or `never`."""
    strict_contracts: bool = setting(False)
    """Whether code without tests, or api and data without Contracts, make a plan invalid."""
    require_proof: str = setting("agents", "always|agents|never", COMMON)
    """Whose work needs a proof: `agents` (and models, commands), `always` (all) or `never`."""
    require_contracts: str = setting("api", "ContractKinds")
    """Types that need Contracts if a task names its type: `api`, `api,data` or `none`."""
    assurance: str = setting("tests", "tests|independent", COMMON)
    """Minimum grade of work by agents, models and commands: `tests` or `independent`."""
    strict: bool = setting(False)
    """Whether failures that the base already has also reject a change."""
    coverage_missing: str = setting("warn", "warn|fail")
    """What happens if coverage cannot be measured: `warn`, or `fail` the task."""
    contract_examples: int = setting(50)
    """Number of requests to try for each operation of an OpenAPI contract."""
    default_gates: bool = setting(True, COMMON)
    """Whether gates that the repository's files declare apply, if `[gates]` is not set."""
    gate_batch_seconds: float = setting(30, "Wait")
    """Maximum seconds a proven task waits for others, to run a suite once; 0: no wait."""
    red_first: str = setting("auto", "auto|always|never", COMMON)
    """Whether a test must fail without the change: `always`, `never`, or `auto`: the runner asks
    about new work of agents, commands and models. A task's own Red first overrides it."""
    held_out_land: bool = setting(True, OWN)
    """Whether held-out files land with their task; `false`: they stay in the store."""
    held_out_rounds: int = setting(3)
    """Number of failed held-out proofs after which a person must decide."""
    test_visibility: str = setting("held-out", "held-out|visible")
    """Tests of a separate author: `held-out`, or `visible` to the implementer (read-only)."""
    mutation: str = setting("warn", "Mutation", COMMON)
    """Whether to test mutants of the work of agents, commands and models: `warn` or `off`."""
    regression: str = setting("repair", "repair|halt")
    """If a change breaks another task: `repair` (the next attempt must fix it) or `halt`."""
    changed_dependents: str = setting("transitive", "direct|transitive")
    """How far to trace a change to tests: `direct` or `transitive` dependents."""
    conservative: bool = setting(False)
    """Whether a change counts as affecting a test if the runner cannot decide."""
    verify_at_end: str = setting("changed", "Verification", COMMON)
    """Tasks to prove together at a run's end: `changed` (affected ones), `all` or `never`."""


class AgentSettings(SettingsTable, frozen=True):
    """Agent programs, and what they are shown."""

    command: str = setting("", COMMON, OWN, old="agent_command")
    """Shell command of the `agent` implementer: any agent program without a preset."""
    acp_command: str = setting("", OWN)
    """Shell command of an `acp:NAME` implementer, such as `gemini --acp`; none: its usual one."""
    env: tuple[str, ...] = setting((), "Names", COMMON, OWN, old="agent_env")
    """Names of additional environment variables for agent programs, such as a login's."""
    files: tuple[str, ...] = setting((), "HomePaths", COMMON, OWN, old="agent_files")
    """Paths below HOME to copy for agent programs, such as the files of a login."""
    context_tokens: int = setting(8000)
    """Maximum tokens of the files in a brief; the same limit holds for its other parts."""
    read_allow: tuple[str, ...] = setting((), "Globs", FLOOR)
    """Globs of tracked files to show agents and models; none: all except private ones."""


class ModelSettings(SettingsTable, frozen=True):
    """Models, and the server that has them."""

    plan: str = setting("", "ModelName", COMMON, old="model_plan")
    """Model that plans a task; none: `execute`, or the agent program's default."""
    execute: str = setting("", "ModelName", COMMON, old="model_execute")
    """Model that builds a task, such as `anthropic:NAME`; none: the agent program's default."""
    escalate: tuple[str, ...] = setting((), "ModelNames", COMMON, old="model_escalate")
    """Models that build a task, from weak to strong: a failed proof moves to the next one."""
    review: str = setting("", "ModelName", COMMON, old="model_review")
    """Model that reviews changes if `review.mode` is `auto` and `review.command` is not set."""
    draft: str = setting("", "ModelName", old="model_draft")
    """Model or agent program for `runner draft`; none: the default implementer."""
    base_url: str = setting("", "ServerAddress", COMMON, OWN, old="model_base_url")
    """Server of `openai-compatible:` models, such as `http://127.0.0.1:8080/v1`."""
    key_env: str = setting("", "VariableName", COMMON, OWN, old="model_key_env")
    """Environment variable with the key of that server; none: requests have no key."""
    calls: str = setting("", "CallRate", OWN, old="model_calls")
    """Maximum rate of model calls in a run, such as `6/minute`; none: no limit."""


class ReviewSettings(SettingsTable, frozen=True):
    """Settings for the review of changes and plans."""

    mode: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="review")
    """Who reviews changes: `prompt` (you), `auto` (`review.command` or `model.review`) or `off`.
    None: you on a terminal, else nobody."""
    at: str = setting("proof", "proof|write", old="review_at")
    """When you review: `proof` (a task, after its proof) or `write` (before each compile)."""
    plan: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="plan_review")
    """Who approves an agent's plan, as in `mode`; none: you on a terminal, else nobody."""
    command: str = setting("", COMMON, OWN, old="review_command")
    """Shell command of mode `auto`: exit 0 approves the diff, else its output says why not."""
    insisted: bool = False
    plan_insisted: bool = False
    """Whether `mode` and `plan` come from environment or flag; only those can loosen the rest."""


class SandboxSettings(SettingsTable, frozen=True):
    """Settings for the files and network that commands may access."""

    kind: str = setting(
        "auto", "auto|bubblewrap|landlock|seatbelt|none", COMMON, OWN, old="sandbox"
    )
    """`auto` (bubblewrap if it works), `bubblewrap`, `landlock`, `seatbelt` (macOS) or `none`."""
    read: tuple[str, ...] = setting((), "Paths", COMMON, OWN, old="sandbox_read")
    """Additional files and folders that commands in the sandbox may read."""
    worktree_include: tuple[str, ...] = setting((), "Globs", COMMON, OWN)
    """Patterns of ignored files to copy into scratch trees, besides `.worktreeinclude`."""
    worktree_include_remote: bool = setting(False, OWN)
    """Whether the runner also sends those files to cluster workers."""
    network: Network = setting(Network.YES, "Reach", COMMON, OWN)
    """Maximum network access of any command: `no`, `loopback`, `registries` or `yes`."""
    registries: tuple[str, ...] = setting((), "Hosts", COMMON, FLOOR)
    """Additional hosts of `Network: registries`. In a repository's file: the only hosts."""
    pass_env: tuple[str, ...] = setting((), "Names", COMMON, OWN)
    """Names or patterns of additional environment variables that commands get."""
    secrets: tuple[str, ...] | None = setting(None, "Names", COMMON, OWN)
    """Names of the secrets that tasks may require; none: all that a trusted plan requires."""


class SkillSettings(SettingsTable, frozen=True):
    """Settings for the skills in a brief."""

    auto_discover: bool = setting(True, old="skills_auto_discover")
    """Whether briefs list the skills of the repository."""
    fallback_to_builtin: bool = setting(True, old="skills_fallback_to_builtin")
    """Whether briefs also list the built-in skills that the repository lacks."""
    folders: tuple[str, ...] = setting(("skills",), "Folders", old="skills_folders")
    """Folders of the project in which to search for skills."""


class TeamSettings(SettingsTable, frozen=True):
    """The team's store and its workers."""

    store: str = setting("", COMMON, OWN)
    """Team database: `postgresql://USER@HOST/DATABASE` or a file; none: your own SQLite file."""
    four_eyes: bool = setting(False, COMMON, OWN)
    """Whether approvals in a build must come from a person other than its requester."""
    worker_default_branch: bool = setting(False, OWN)
    """Whether builds that you queue may land on the branch that they start from."""
    worker_beat: float = setting(3.0, "Seconds", OWN)
    """Interval in seconds at which a worker renews its claim on a build."""
    worker_ttl: float = setting(30.0, "Seconds", OWN)
    """Seconds without renewal after which another worker may take over a build."""
    worker_poll: float = setting(5.0, "Seconds", OWN)
    """Interval in seconds at which a worker polls the store, if nothing notifies it."""
    worker_cache: str = setting("10GB", "Size", OWN)
    """Maximum size of a worker's copies of repositories and clones of finished builds."""
    worker_credentials: tuple[str, ...] = setting((), "WordList", OWN)
    """Variables with a token, each with the only host that may get it: `TOKEN@HOST`."""
    worker_folders: tuple[str, ...] = setting((), "Paths", OWN)
    """Folders of repositories that a worker may build by a path or `file://` address."""


class ArtifactsSettings(SettingsTable, frozen=True):
    """Settings for the storage of a run's files."""

    store: str = setting("", "StorePlace", old="artifacts_store")
    """Where to store the artifacts of runs: `s3://BUCKET/PREFIX` or a folder; none: nowhere."""


class EventSettings(SettingsTable, frozen=True):
    """Settings for the receivers of events."""

    nats: str = setting("", "NatsAddress", COMMON, OWN, old="events")
    """NATS JetStream server that gets events, such as `nats://HOST:4222`; none: not sent."""
    days: int = setting(30, "EventDays", OWN, old="events_days")
    """Days for which that server stores events, 7 to 90."""
    key_env: str = setting("", "VariableName", OWN, old="events_key_env")
    """Environment variable with the token of that server; none: requests have no token."""
    webhook: str = setting("", "ReceiverAddress", COMMON, OWN)
    """URL that gets each event in a signed POST request; none: not sent."""
    webhook_key_env: str = setting("", "VariableName", OWN)
    """Environment variable with the key that signs these requests."""


class TelemetrySettings(SettingsTable, frozen=True):
    """Traces of runs."""

    otlp: str = setting("", "ReceiverAddress", COMMON, OWN, old="telemetry_otlp")
    """OpenTelemetry collector that gets traces, such as `http://HOST:4318`; none: not sent."""
    content: bool = setting(False, OWN, old="telemetry_content")
    """Whether traces also contain commands, findings and summaries."""


class ClusterSettings(SettingsTable, frozen=True):
    """Settings for the place where attempts run."""

    executor: str = setting("threads", "ExecutorName", COMMON, OWN)
    """Where attempts run: `inline`, `threads`, `dask`, or `dask:` with an address or file."""
    insecure: bool = setting(False, OWN, old="insecure_cluster")
    """Whether the runner may use a cluster on a network without TLS."""
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
    """Gates of every task, each a name with a command."""
    gates_by_type: tuple[tuple[str, tuple[GateSpec, ...]], ...] = ()
    """Gates of one task type; one with the name of a general gate replaces it."""
    permission: tuple[Permission, ...] = setting((), "Rules", COMMON, FLOOR)
    """Rules for the tools of models; the last matching rule wins."""
    mcp: tuple[McpServer, ...] = setting((), "McpServers", COMMON, OWN)
    """MCP servers whose tools models may call."""
    secret: tuple[SecretSource, ...] = setting((), "Leases", COMMON, OWN)
    """Commands that print a secret, by its name; one runs when an attempt requires it."""
    secret_formats: tuple[SecretShape, ...] = setting((), "SecretFormats", FLOOR)
    """Credential formats to find, besides the built-in ones."""
    compile: tuple[tuple[str, str], ...] = setting((), "Compilers")
    """Additional compile checks: a glob of paths, and a command; `{file}` is the path."""
    resources: tuple[Resource, ...] = setting((), "Supplies", COMMON)
    """Available amount of each scarce resource that tasks name in Uses."""

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
        return setting_values.tightest(self.review.plan or default, self.floor.plan_review)

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
        return setting_values.tightest(self.review.mode or default, self.floor.review, asked)


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
