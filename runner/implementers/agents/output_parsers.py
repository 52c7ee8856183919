"""Parse each program's output, line by line, into a transcript.

Other lines, such as warnings, are skipped. Formats are those of the versions named in `presets`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from runner.implementers.agents.preset import Dialect
from runner.model import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.implementers.agents.transcript import Transcript

    Row = Mapping[str, object]

_NOTHING: dict[str, object] = {}
_NEVER_BETTER = (401, 402, 403)
_MOST = 10**15
"""Maximum tokens or dollars; higher values are invalid. JSON's `1e999` is infinite in Python."""


def hear(dialect: Dialect, line: str, into: Transcript) -> None:
    """Parse one line of output into the transcript."""
    if dialect is Dialect.AIDER:
        _aider(line, into)
        return
    row = _row(line) if line.startswith("{") else None
    if isinstance(row, dict) and _is_event(row, dialect):
        # Deeply nested input can't always be serialised: the error would end the reading thread,
        # and the session's limits would no longer apply.
        with suppress(RecursionError):
            _SPOKEN[dialect](row, into)
    elif dialect is Dialect.CLAUDE and (line.strip() or into.text.endswith("\n")):
        # A custom program may print plain text; an empty line ends a decision.
        into.says(line + "\n", goes_on=True)


def _is_event(row: Row, dialect: Dialect) -> bool:
    """Return whether a JSON object is an event of the program's stream.

    What such a program prints beside that is passed over in any case; only talk is heard of it.
    """
    kind = row.get("type")
    return isinstance(kind, str) and (dialect is not Dialect.CLAUDE or kind in _CLAUDE_KINDS)


def _row(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _at(row: Row, *path: str) -> object:
    found: object = row
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _text(row: Row, *path: str) -> str:
    found = _at(row, *path)
    return found if isinstance(found, str) else ""


def _within(row: Row, *path: str) -> Row:
    found = _at(row, *path)
    return found if isinstance(found, dict) else _NOTHING


def _count(row: Row, *names: str) -> int:
    """Return the sum of the named numbers in a row; missing ones count as 0."""
    return sum(int(_positive(row.get(name))) for name in names)


def _cost(row: Row, name: str) -> float:
    return float(_positive(row.get(name)))


def _positive(found: object) -> float:
    """Return a positive number within the limit, or 0 for any other value."""
    return found if isinstance(found, (int, float)) and 0 < found < _MOST else 0


# --- claude: --output-format stream-json ----------------------------------------------

_CLAUDE_KINDS = frozenset(
    {
        *("system", "assistant", "user", "result", "stream_event", "rate_limit_event"),
        *("control_request", "control_response", "control_cancel_request", "keep_alive"),
        *("tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "summary"),
    }
)
"""Every `type` of its stream, including ignored ones."""


def _claude(row: Row, into: Transcript) -> None:
    kind = row.get("type")
    if kind == "result":
        _claude_result(row, into)
        return
    if row.get("subtype") == "api_retry":
        _claude_retry(row, into)
        return
    message = _within(row, "message")
    if kind == "assistant":
        # A message comes as one line for each part, each with the total usage: count it once for
        # each ID.
        into.record_usage(_text(message, "id"), _claude_usage(_within(message, "usage")))
    for part in _parts(message):
        if kind == "assistant" and part.get("type") == "tool_use":
            into.record_call(_text(part, "id"), _text(part, "name"), part.get("input"))
        elif kind == "assistant" and part.get("type") == "text":
            into.says(_text(part, "text"))
        elif kind == "user" and part.get("type") == "tool_result":
            into.record_return(_text(part, "tool_use_id"), failed=bool(part.get("is_error")))


def _parts(message: Row) -> Iterator[Row]:
    content = message.get("content")
    yield from (
        (part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()
    )


def _claude_result(row: Row, into: Transcript) -> None:
    usage = _claude_usage(_within(row, "usage"))
    cost = _cost(row, "total_cost_usd")
    into.record_total_usage(Usage(usage.input_tokens, usage.output_tokens, cost))
    result = _text(row, "result")
    if row.get("is_error") or _text(row, "subtype").startswith("error"):
        into.record_failure(result or _text(row, "subtype"))
        return
    if result:
        into.says(result)
    into.ended, into.error = True, ""


def _claude_retry(row: Row, into: Transcript) -> None:
    """Handle a retry by the program itself, which with an invalid key would last for minutes."""
    status, why = _count(row, "error_status"), _text(row, "error")
    into.tell(f"the provider answered {status} {why}; retrying")
    if status in _NEVER_BETTER:
        into.record_failure(f"{status} {why}")
        into.hopeless = True


def _claude_usage(row: Row) -> Usage:
    # `input_tokens` excludes tokens written to and read from the cache (Anthropic's Messages API,
    # "Prompt caching").
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(_count(row, *read), _count(row, "output_tokens"))


# --- codex: exec --json ---------------------------------------------------------------

_CODEX_TOOLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("server", "tool", "arguments"),
    "web_search": ("query",),
}


def _codex(row: Row, into: Transcript) -> None:
    kind = _text(row, "type")
    if kind.startswith("item."):
        _codex_item(kind, _within(row, "item"), into)
    elif kind == "turn.completed":
        # `cached_input_tokens` is included in `input_tokens` (OpenAI's API, "Prompt caching") and
        # not added.
        usage = _within(row, "usage")
        into.record_more_usage(Usage(_count(usage, "input_tokens"), _count(usage, "output_tokens")))
        into.ended, into.error = True, ""
    elif kind == "turn.failed":
        into.record_failure(_text(row, "error", "message"))
    elif kind == "error":
        into.record_failure(_text(row, "message"))


def _codex_item(kind: str, item: Row, into: Transcript) -> None:
    what, key = _text(item, "type"), _text(item, "id")
    if what in _CODEX_TOOLS:
        into.record_call(key, what, {name: item.get(name) for name in _CODEX_TOOLS[what]})
        if kind == "item.completed":
            into.record_return(key, failed=_codex_failed(item))
    elif what == "agent_message" and kind == "item.completed":
        into.says(_text(item, "text"))


def _codex_failed(item: Row) -> bool:
    return _text(item, "status") in ("failed", "declined") or bool(item.get("exit_code"))


# --- gemini: --output-format stream-json ----------------------------------------------


def _gemini(row: Row, into: Transcript) -> None:
    kind = row.get("type")
    if kind == "message" and row.get("role") == "assistant":
        into.says(_text(row, "content"), goes_on=bool(row.get("delta")))
    elif kind == "tool_use":
        into.record_call(_text(row, "tool_id"), _text(row, "tool_name"), row.get("parameters"))
        into.text = ""  # what it says after its last call is its answer
    elif kind == "tool_result":
        into.record_return(_text(row, "tool_id"), failed=_text(row, "status") == "error")
    elif kind == "error":
        into.record_failure(_text(row, "message"))
    elif kind == "result":
        stats = _within(row, "stats")
        into.record_total_usage(
            Usage(_count(stats, "input_tokens"), _count(stats, "output_tokens"))
        )
        if row.get("status") == "error":
            into.record_failure(_text(row, "error", "message") or into.error)
        else:
            into.ended, into.error = True, ""


# --- acp: what `acp_client` prints ------------------------------------------------------


def _acp(row: Row, into: Transcript) -> None:
    kind = _text(row, "type").removeprefix("acp.")
    if kind == "text":
        into.says(_text(row, "text"), goes_on=into.goes_on)
        into.goes_on = True
    elif kind == "message":
        into.goes_on = False
    elif kind == "failed":
        into.record_failure(_text(row, "message"))
    elif kind == "end":
        into.ended, into.error = True, ""
    else:
        _acp_course(kind, row, into)


def _acp_course(kind: str, row: Row, into: Transcript) -> None:
    """Handle an event during the session."""
    if kind == "call":
        into.record_call(_text(row, "id"), _text(row, "name"), row.get("arguments"))
    elif kind == "return":
        into.record_return(_text(row, "id"), failed=bool(row.get("failed")))
    elif kind == "usage":
        read = ("inputTokens", "cachedReadTokens", "cachedWriteTokens")
        used = Usage(_count(row, *read), _count(row, "outputTokens"), into.usage.dollars)
        into.record_total_usage(used)
    elif kind == "context":
        into.record_usage("context", Usage(_count(row, "used"), 0, _cost(row, "dollars")))
    elif kind == "permission" and not row.get("allowed"):
        into.tell(f"not permitted: {_text(row, 'title')}: {_text(row, 'why')}")
    elif kind == "plan":
        entries = row.get("entries")
        rows = entries if isinstance(entries, list) else []
        if steps := "; ".join(one for one in rows if isinstance(one, str)):
            into.tell(f"the agent's plan: {steps}")


# --- opencode: run --format json ------------------------------------------------------


def _opencode(row: Row, into: Transcript) -> None:
    kind, part = row.get("type"), _within(row, "part")
    if kind == "text":
        into.says(_text(part, "text"))
    elif kind == "tool_use":
        key, state = _text(part, "callID"), _within(part, "state")
        into.record_call(key, _text(part, "tool"), state.get("input"))
        if state.get("status") in ("completed", "error"):
            into.record_return(key, failed=state.get("status") == "error")
    elif kind == "step_finish":
        into.record_usage(_text(part, "id"), _opencode_usage(part))
        into.ended = into.ended or part.get("reason") == "stop"
    elif kind == "error":
        error = _within(row, "error")
        into.record_failure(
            " ".join(filter(None, (_text(error, "name"), _text(error, "data", "message"))))
        )


def _opencode_usage(part: Row) -> Usage:
    tokens = _within(part, "tokens")
    cached = _count(_within(tokens, "cache"), "read", "write")
    return Usage(
        _count(tokens, "input") + cached,
        _count(tokens, "output", "reasoning"),
        _cost(part, "cost"),
    )


# --- aider: plain text ----------------------------------------------------------------

_SPENT = re.compile(r"Tokens: ([\d.,]+[kM]?) sent(?:, [\d.,]+[kM]? cache \w+)*, ([\d.,]+[kM]?) rec")
_COST = re.compile(r"Cost: \$[\d.]+ message, \$([\d.]+) session")
_FAILS = re.compile(r"^litellm\.\w*Error|^The API provider|^(?:API|Unexpected) error|^Unable to")
_SCALE = {"k": 1e3, "M": 1e6}


def _aider(line: str, into: Transcript) -> None:
    into.says(line + "\n", goes_on=True)
    if spent := _SPENT.search(line):
        into.record_usage(f"at {len(into.text)}", Usage(_amount(spent[1]), _amount(spent[2])))
        into.ended, into.error = True, ""
    if cost := _COST.search(line):
        into.record_usage("cost", Usage(dollars=_decimal(cost[1])))
    if _FAILS.match(line):
        into.record_failure(f"{into.error}\n{line}".strip())


def _amount(text: str) -> int:
    return int(_positive(_decimal(text.rstrip("kM").replace(",", "")) * _SCALE.get(text[-1], 1)))


def _decimal(text: str) -> float:
    """Parse a number of digits and dots; 0 if it is invalid."""
    try:
        return _positive(float(text))
    except ValueError:
        return 0.0


_SPOKEN: dict[Dialect, Callable[[Row, Transcript], None]] = {
    Dialect.CLAUDE: _claude,
    Dialect.CODEX: _codex,
    Dialect.GEMINI: _gemini,
    Dialect.OPENCODE: _opencode,
    Dialect.ACP: _acp,
}
