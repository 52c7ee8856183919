"""Every setting, declared once: its table, name, type, default, and who may set it.

`runner.toml` and Python read it as `limits.soft_seconds`, the environment as
`RUNNER_LIMITS_SOFT_SECONDS`. `old` is its name in files without tables, which is still read.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from runner.config import values
from runner.config.declarations import Declaration, SettingMark, declare, setting
from runner.lazy_dataclass import dataclass
from runner.model import GateSpec, Network, Resource, ReviewMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.shell_rules import Permission
    from runner.config.values import McpServer, SecretSource
    from runner.model import Task
    from runner.secrets.load_rules import SecretShape

MINUTE = 60.0
COMMON, OWN, OWN_FILE, BOUND, CAPPED, FLOOR = SettingMark


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How a run chooses and tries tasks."""

    jobs: int = field(default_factory=values.count_cores, metadata={"about": (COMMON,), "old": ""})
    """Tasks at once."""
    agents: int = setting(3, COMMON)
    """Agents and models at once, within `jobs`."""
    attempts: int = setting(5, COMMON)
    """Attempts in a row before a task is BLOCKED."""
    backoff: float = setting(1.0, "Factor")
    """Times the usual pause before an agent or a model is called again; 0: no pause."""
    checkpoint_every: int = setting(5, "CheckpointCount")
    """Tasks from one full checkpoint to the next, 3 to 5."""
    implementer: str = setting("", COMMON)
    """Who implements a task that names nobody and has neither blocks nor Command."""
    command: str = setting("", COMMON)
    """What the `command` implementer runs for a task without Command."""
    plan_first: bool = setting(True, COMMON)
    """Whether agents and models come to a plan before they write anything."""
    id_prefixes: tuple[str, ...] = setting((), "IdPrefixes")
    """More prefixes of task ids, beside TASK and T."""
    task_graph: str = setting("", COMMON)
    """The plan's path, where it is not in its usual place."""
    extensions: tuple[str, ...] = setting((), "WordList", OWN_FILE)
    """Extensions of other distributions that are loaded; only your own settings file sets it."""


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """What tasks, attempts and runs may use."""

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
    """Minutes of a run, all its tasks together; the others likewise. None: no limit."""
    run_tokens: int | None = setting(None, BOUND)
    run_dollars: float | None = setting(None, COMMON, BOUND)
    run_tool_calls: int | None = setting(None, BOUND)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Who is notified of the end of a run."""

    command: str = setting("", COMMON, OWN, old="notify_command")
    """The command that gets the end of a run as one line of JSON on standard input."""
    on: tuple[str, ...] = setting(
        ("waits", "regression", "stopped"), "Endings", COMMON, OWN, old="notify_on"
    )
    """At which ends: done, blocked, waits, regression, stopped."""


@dataclass(frozen=True, slots=True)
class GitSettings:
    """How landings are committed and pushed."""

    draft_pr: bool = setting(False, OWN)
    """Whether work that did not pass becomes a draft pull request, where there is a remote."""
    commit: str = setting("task", "task|manual", COMMON)
    """`task`: one commit at each landing; `manual`: the person commits."""
    record: str = setting("end", "end|never")
    """When statuses, CHECKPOINT.md and proofs are committed: `end` of each run, or `never`."""
    sign_seconds: float = setting(30, "Seconds", OWN)
    """A program that signs a commit for git is stopped after this."""
    sign_off: bool | None = setting(None)
    """Whether commits get the person's `Signed-off-by`; none: as git's `format.signoff` says."""
    publish: str = setting("", "OptionalLine", COMMON, OWN)
    """The remote whose branch each landing moves first, under a lease: one clone builds a branch
    at a time; `none`: what lands stays here until a person pushes it."""
    publish_at: str = setting("task", "task|end", OWN)
    """`task`: with each landing; `end`: with one push at the end of a run that did all of it."""
    lease_seconds: float = setting(5 * MINUTE, "Seconds", OWN)
    """A lease that stays unchanged for so long may be taken over."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What one command or proposal may use."""

    soft_seconds: float = setting(5 * MINUTE, "Seconds", COMMON)
    """After this a command is reported as still running."""
    idle_seconds: float = setting(10 * MINUTE, "Seconds", COMMON)
    """A command that says nothing for so long is ended."""
    hard_seconds: float = setting(30 * MINUTE, "Seconds", COMMON)
    """A command is ended after this."""
    gate_seconds: float = setting(300, "Seconds", COMMON)
    """A gate is ended after this; `types` and `lint` have their own."""
    types_seconds: float = setting(120, "Seconds")
    lint_seconds: float = setting(60, "Seconds")
    processes: int = setting(4096, OWN)
    """Processes and threads of one command at once."""
    memory: str = setting("", "Size", COMMON, OWN)
    """Memory of one command, as `4GB`, where its task names none; none: no limit."""
    processors: float = setting(0, OWN)
    """Processors that one command may keep busy, all its processes together; 0: all there are."""
    disk: str = setting("", "Size", OWN)
    """Bytes that one command may write to disk, as `10GB`, before it is ended; none: no limit."""
    io: str = setting("", "Rate", OWN)
    """How fast one command may read, and write, as `50MB/s`; none: as fast as it goes."""
    file_size: str = setting("8GB", "Size", OWN)
    """The largest file that a command may write."""
    proposal_file_size: str = setting("50MB", "Size", CAPPED)
    """The largest file that a task may propose."""
    proposal_size: str = setting("500MB", "Size", CAPPED)
    """The most bytes of all files that a task proposes."""
    proposal_files: int = setting(10_000, CAPPED)
    """The most files that a task proposes."""


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """What proves a task."""

    coverage: float = setting(70, "Percent", COMMON)
    """Percent of the lines of a task's files that its tests must reach."""
    project_coverage: float = setting(70, "Percent")
    """Percent of the project's lines."""
    held_out_dir: str = setting("", "AbsolutePath", OWN)
    """Where held-out files lie, outside of every work tree; none: the state folder."""
    sast_block_at: str = setting("never", "low|medium|high|never")
    """Findings of this severity and above refuse a write: `low`, `medium`, `high` or `never`."""
    strict_contracts: bool = setting(False)
    """Whether code needs a test contract, and a task of type api or data a contract."""
    require_proof: str = setting("agents", "always|agents|never", COMMON)
    """Whose work needs a proof by a command: `agents` (and models, commands), `always`, `never`."""
    require_contracts: str = setting("api", "ContractKinds")
    """Written types of tasks that need Contracts: `api`, `api,data` or `none`."""
    assurance: str = setting("tests", "tests|independent", COMMON)
    """The grade below which work of agents, models and commands waits: `tests` or `independent`."""
    strict: bool = setting(False)
    """Whether a failure that was there before a change refuses it too."""
    coverage_missing: str = setting("warn", "warn|fail")
    """What coverage that could not be measured does: `warn` or `fail`."""
    contract_examples: int = setting(50)
    """Requests that an OpenAPI contract tries per operation."""
    default_gates: bool = setting(True, COMMON)
    """Whether the gates that the repository declares about itself hold where none are set."""
    gate_batch_seconds: float = setting(30, "Wait")
    """How long proven tasks wait for others, to run a whole test suite once for all; 0: never."""
    red_first: str = setting("auto", "auto|always|never", COMMON)
    """Whether a test must fail without the change: `auto` (asks about new work of agents,
    commands and models), `always` (refuses) or `never`. A task's own Red first wins."""
    held_out_land: bool = setting(True, OWN)
    """Whether held-out files land in the commit of their task; `false`: they stay in the store."""
    held_out_rounds: int = setting(3)
    """Failed held-out proofs that go back to the implementer before a person is asked."""
    test_visibility: str = setting("held-out", "held-out|visible")
    """Tests of a separate author: `held-out`, or `visible` to the implementer (read-only)."""
    mutation: str = setting("warn", "Mutation", COMMON)
    """Whether mutants of what agents, commands and models wrote are tried: `off` or `warn`."""
    regression: str = setting("repair", "repair|halt")
    """A change that breaks another task: `repair` (the next attempt must fix it) or `halt`."""
    changed_dependents: str = setting("transitive", "direct|transitive")
    """How far a change is traced: `direct` or `transitive` dependents."""
    conservative: bool = setting(False)
    """Whether what cannot be decided counts as affected."""
    verify_at_end: str = setting("changed", "Verification", COMMON)
    """What a run proves once more on the whole tree at its end: `changed`, `all` or `never`."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Agent programs, and what they are shown."""

    command: str = setting("", COMMON, OWN, old="agent_command")
    """What the `agent` implementer runs: any agent program that no preset knows."""
    acp_command: str = setting("", OWN)
    """What an `acp:NAME` implementer starts: any agent that speaks the Agent Client Protocol."""
    env: tuple[str, ...] = setting((), "Names", COMMON, OWN, old="agent_env")
    """Names of more environment variables that an agent program gets, such as its login's."""
    files: tuple[str, ...] = setting((), "HomePaths", COMMON, OWN, old="agent_files")
    """Files below HOME of which an agent program gets a copy, such as its login."""
    context_tokens: int = setting(8000)
    """Tokens of the files that a brief shows; what it tells beside them is bounded by the same."""
    read_allow: tuple[str, ...] = setting((), "Globs", FLOOR)
    """Globs of tracked files that a brief may show; none: all but private ones."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Models, and the server that has them."""

    plan: str = setting("", "ModelName", COMMON, old="model_plan")
    """The model that plans, as the agent program or the provider names it; none: its default."""
    execute: str = setting("", "ModelName", COMMON, old="model_execute")
    """The model that writes."""
    escalate: tuple[str, ...] = setting((), "ModelNames", COMMON, old="model_escalate")
    """Models that write, from small to strong: the next one after each failed proof."""
    review: str = setting("", "ModelName", COMMON, old="model_review")
    """The model that reviews where `review.mode` is `auto` and `review.command` is not set."""
    draft: str = setting("", "ModelName", old="model_draft")
    """The model that drafts plans, or the agent program; none: the one that plans."""
    base_url: str = setting("", "ServerAddress", COMMON, OWN, old="model_base_url")
    """Address of the server that `openai-compatible:` models are asked of."""
    key_env: str = setting("", "VariableName", COMMON, OWN, old="model_key_env")
    """Name of the variable with that server's key; none: it is asked without one."""
    calls: str = setting("", "CallRate", OWN, old="model_calls")
    """How often a run calls models, all its tasks together, as `6/minute`; none: no bound."""


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Who reviews changes and plans."""

    mode: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="review")
    """Who reviews changes: `prompt` (you), `auto` (`review.command` or `model.review`) or `off`;
    none: you on a terminal, else nobody."""
    at: str = setting("proof", "proof|write", old="review_at")
    """`proof`: once a task, of proven bytes; `write`: before the compile step of each write."""
    plan: ReviewMode | None = setting(None, "Review", COMMON, FLOOR, old="plan_review")
    """Who approves a plan that an agent writes first; none: `prompt` on a terminal, else `off`."""
    command: str = setting("", COMMON, OWN, old="review_command")
    """What reviews a diff where `review.mode` is `auto`: exit 0 approves, else it says why not."""
    insisted: bool = False
    plan_insisted: bool = False
    """Whether `mode` and `plan` come from environment or flag, which alone loosen the rest."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What commands may read and reach."""

    kind: str = setting(
        "auto", "auto|bubblewrap|landlock|seatbelt|none", COMMON, OWN, old="sandbox"
    )
    """`auto`, `bubblewrap`, `landlock`, `seatbelt` (macOS) or `none`."""
    read: tuple[str, ...] = setting((), "Paths", COMMON, OWN, old="sandbox_read")
    """More paths that a command in the sandbox may read."""
    worktree_include: tuple[str, ...] = setting((), "Globs", COMMON, OWN)
    """Patterns of ignored files that are copied into scratch trees, beside `.worktreeinclude`."""
    worktree_include_remote: bool = setting(False, OWN)
    """Whether such files are sent to the workers of a cluster, too."""
    network: Network = setting(Network.YES, "Reach", COMMON, OWN)
    """The most that any command may reach, whatever plan and gates ask for."""
    registries: tuple[str, ...] = setting((), "Hosts", COMMON, FLOOR)
    """More hosts that `Network: registries` reaches. In a repository's settings: the only hosts."""
    pass_env: tuple[str, ...] = setting((), "Names", COMMON, OWN)
    """Names of more environment variables that commands get."""
    secrets: tuple[str, ...] | None = setting(None, "Names", COMMON, OWN)
    """Names that a task may require as secrets; none: whichever a trusted plan requires."""


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """Which skills a brief lists."""

    auto_discover: bool = setting(True, old="skills_auto_discover")
    """Whether the repository's own skills are listed in briefs."""
    fallback_to_builtin: bool = setting(True, old="skills_fallback_to_builtin")
    """Whether skills that come with the runner stand in for names it has none of."""
    folders: tuple[str, ...] = setting(("skills",), "Folders", old="skills_folders")
    """Folders of the project in which skills are looked for."""


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """The team's store and its workers."""

    store: str = setting("", COMMON, OWN)
    """The team's store: `postgresql://USER@HOST/DATABASE`, or a path; none: SQLite, kept by you."""
    four_eyes: bool = setting(False, COMMON, OWN)
    """Whether a team has what waits approved by somebody else than who asked for it."""
    worker_default_branch: bool = setting(False, OWN)
    """Whether a team's builds may land on the branch that they begin on."""
    worker_beat: float = setting(3.0, "Seconds", OWN)
    """A worker tells the store so often that it still has its build."""
    worker_ttl: float = setting(30.0, "Seconds", OWN)
    """A build whose worker was not heard of for so long is handed on."""
    worker_poll: float = setting(5.0, "Seconds", OWN)
    """A worker looks into the store so often by itself, where nothing tells it of news."""
    worker_cache: str = setting("10GB", "Size", OWN)
    """What a worker keeps of repositories, and as much of clones of builds that are over."""
    worker_credentials: tuple[str, ...] = setting((), "WordList", OWN)
    """Variables with a token, each with the one host that may get it: `TOKEN@HOST`."""
    worker_folders: tuple[str, ...] = setting((), "Paths", OWN)
    """Folders whose repositories a worker builds, where a path or `file://` is registered."""


@dataclass(frozen=True, slots=True)
class ArtifactsSettings:
    """Where the files of a run are kept."""

    store: str = setting("", "StorePlace", old="artifacts_store")
    """Where what a run leaves is kept: `s3://BUCKET/PREFIX`, or a folder; none: nowhere."""


@dataclass(frozen=True, slots=True)
class EventSettings:
    """Who receives events."""

    nats: str = setting("", "NatsAddress", COMMON, OWN, old="events")
    """Where events go: NATS JetStream, as `nats://HOST:4222`; `none`: nowhere."""
    days: int = setting(30, "EventDays", OWN, old="events_days")
    """For how many days the stream keeps them, 7 to 90."""
    key_env: str = setting("", "VariableName", OWN, old="events_key_env")
    """Name of the variable with that server's token; none: it is asked without one."""
    webhook: str = setting("", "ReceiverAddress", COMMON, OWN)
    """The address that each event is posted to, signed; `none`: nowhere."""
    webhook_key_env: str = setting("", "VariableName", OWN)
    """Name of the variable with the key that webhooks are signed with."""


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Traces of runs."""

    otlp: str = setting("", "ReceiverAddress", COMMON, OWN, old="telemetry_otlp")
    """The collector that traces go to, as `http://HOST:4318`; `none`: nowhere."""
    content: bool = setting(False, OWN, old="telemetry_content")
    """Whether traces have commands, findings and summaries in them, too."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where attempts run."""

    executor: str = setting("threads", "ExecutorName", COMMON, OWN)
    """Where attempts run: `inline`, `threads`, `dask`, or `dask:` with an address or file."""
    insecure: bool = setting(False, OWN, old="insecure_cluster")
    """Whether a cluster on a network may be used without TLS."""
    tls_ca: str = setting("", OWN, old="dask_tls_ca")
    """TLS files: authority, certificate and key; none: what Dask's own configuration names."""
    tls_cert: str = setting("", OWN, old="dask_tls_cert")
    tls_key: str = setting("", OWN, old="dask_tls_key")


@dataclass(frozen=True, slots=True)
class FloorSettings:
    """What a repository requires at least, by the settings' old names; None: nothing."""

    permission: tuple[Permission, ...] = ()
    review: ReviewMode | None = None
    plan_review: ReviewMode | None = None
    registries: tuple[str, ...] | None = None
    """The only hosts of all these that it wants reached."""
    secret_formats: tuple[SecretShape, ...] = ()
    """They refuse a write, and hide nothing that a person is shown."""
    read_allow: tuple[str, ...] | None = None
    """Globs of the only files that it wants shown."""


@dataclass(frozen=True, slots=True)
class Settings:
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
    """Gates of every task."""
    gates_by_type: tuple[tuple[str, tuple[GateSpec, ...]], ...] = ()
    """Gates of the tasks of one type; one that is named as a general gate replaces it."""
    permission: tuple[Permission, ...] = setting((), "Rules", COMMON, FLOOR)
    """What the tools of a model may do: of the rules that match, the last wins."""
    mcp: tuple[McpServer, ...] = setting((), "McpServers", COMMON, OWN)
    """Servers whose tools a model may call."""
    secret: tuple[SecretSource, ...] = setting((), "Leases", COMMON, OWN)
    """Commands that say secrets which tasks require: asked when an attempt needs one, by name."""
    secret_formats: tuple[SecretShape, ...] = setting((), "SecretFormats", FLOOR)
    """Formats of credentials beside the built-in ones."""
    compile: tuple[tuple[str, str], ...] = setting((), "Compilers")
    """More compilers: (glob of paths, command), where `{file}` stands for the path."""
    resources: tuple[Resource, ...] = setting((), "Supplies", COMMON)
    """How much of each scarce thing there is."""

    def gates_for(self, task_type: str) -> tuple[GateSpec, ...]:
        """The project's gates for a task of this type, in their written order."""
        own = dict(self.gates_by_type).get(task_type.casefold(), ())
        replaced = {gate.name for gate in own}
        return (*(gate for gate in self.gates if gate.name not in replaced), *own)

    def seconds_for(self, gate: GateSpec) -> float:
        """How many seconds a gate may take: what it says itself, else the default of its name."""
        by_name = {"types": self.limits.types_seconds, "lint": self.limits.lint_seconds}
        return gate.seconds or by_name.get(gate.name.casefold(), self.limits.gate_seconds)

    def network_for(self, asked: Network) -> Network:
        """What a command may reach that asks for `asked`: never more than the person allows."""
        reaches = tuple(Network)
        return min(asked, self.sandbox.network, key=reaches.index)

    def secrets_for(self, task: Task, environ: Mapping[str, str]) -> dict[str, str]:
        """Names and values of the secrets that a task requires, and that the person lets it have.

        What a command of the person's own says is not among them (`run/secret_leases`).
        """
        leased = {one.name for one in self.secret}
        needed = {need.name for need in task.requires if need.kind == "secret"} - leased
        permitted = (
            needed if self.sandbox.secrets is None else needed.intersection(self.sandbox.secrets)
        )
        return {name: environ[name] for name in sorted(permitted) if name in environ}

    def plan_review_of(self, default: ReviewMode) -> ReviewMode:
        """Who approves a task's own plan, where nobody chose: `default`."""
        if self.review.plan_insisted and self.review.plan is not None:
            return self.review.plan
        return values.tightest(self.review.plan or default, self.floor.plan_review)

    def with_model(self, **named: Any) -> Settings:
        """The same settings with other models."""
        return replace(self, model=replace(self.model, **named))

    @property
    def has_doors(self) -> bool:
        """Whether events are sent to anybody."""
        return bool(self.events.nats or self.events.webhook or self.telemetry.otlp)

    @property
    def read_allowed(self) -> tuple[tuple[str, ...], ...]:
        """Lists of globs, of which a file must be in each to be shown."""
        return tuple(filter(None, (self.agent.read_allow, self.floor.read_allow or ())))

    def review_of(self, asked: ReviewMode | None, default: ReviewMode) -> ReviewMode:
        """Who reviews a task whose plan asks for `asked`, where nobody chose: `default`.

        Plan and repository only tighten; environment and flags have the last word.
        """
        if self.review.insisted and self.review.mode is not None:
            return self.review.mode
        return values.tightest(self.review.mode or default, self.floor.review, asked)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and where each of them came from."""

    settings: Settings
    sources: Mapping[str, str]
    """Setting to `default`, `runner.toml:3`, `environment RUNNER_BUILD_JOBS` or `--jobs`."""
    notes: tuple[str, ...] = ()
    """What was set and does not count, and why."""

    def value_of(self, name: str) -> object:
        """The value of a setting by its name, such as `limits.soft_seconds`."""
        return attrgetter(name)(self.settings)

    def describe(self, name: str) -> tuple[object, str, bool]:
        """The value of a setting, its source, and whether people often need it."""
        marks = declarations()[name].marks if name in declarations() else ()
        return self.value_of(name), self.sources.get(name, "default"), COMMON in marks

    def list_given(self) -> tuple[str, ...]:
        """The names of what differs from the default."""
        usual = Loaded(Settings(), {})
        return tuple(one for one in list_names() if self.value_of(one) != usual.value_of(one))

    def is_from_repository(self, name: str) -> bool:
        """Whether the repository sets it."""
        return self.sources.get(name, "").startswith(("runner.toml", "pyproject.toml"))


@cache
def declarations() -> Mapping[str, Declaration]:
    """Every setting that a source can set, by name."""
    return {one.name: one for one in declare(Settings)}


def list_names() -> tuple[str, ...]:
    """Every setting, and what is made of them."""
    floors = (f"floor.{one.name}" for one in fields(FloorSettings))
    return (*declarations(), "gates_by_type", *floors)
