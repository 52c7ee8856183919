"""How each provider says a turn on the wire, in events of a stream (SSE)."""

import json

MODEL = "<the model that was asked>"


def sse(*events, named=False):
    """Events as bytes; `named` ones tell their type in a line of its own."""
    lines = []
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        head = f"event: {event['type']}\n" if named else ""
        lines.append(f"{head}data: {text}\n\n".encode())
    return lines


def anthropic(turn):
    """https://docs.anthropic.com/en/api/messages-streaming."""
    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    message |= {
        "model": MODEL,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events = [{"type": "message_start", "message": message}]
    for index, part in enumerate(turn):
        if isinstance(part, str):
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part}
        else:
            name, given = part
            block = {"type": "tool_use", "id": f"toolu_{index}_{name}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    why = "end_turn" if all(isinstance(part, str) for part in turn) else "tool_use"
    ended = {"stop_reason": why, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]
    return sse(*events, named=True)


def chat(turn):
    """https://platform.openai.com/docs/api-reference/chat-streaming."""

    def chunk(delta, why=None):
        choice = {"index": 0, "delta": delta, "finish_reason": why}
        return base | {"choices": [choice]}

    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    events = [chunk({"role": "assistant", "content": ""})]
    for index, part in enumerate(turn):
        if isinstance(part, str):
            events.append(chunk({"content": part}))
        else:
            name, given = part
            function = {"name": name, "arguments": json.dumps(given)}
            call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
            events.append(chunk({"tool_calls": [call]}))
    why = "stop" if all(isinstance(part, str) for part in turn) else "tool_calls"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return sse(*events, chunk({}, why), base | {"choices": [], "usage": usage}, "[DONE]")


def responses(turn):
    """https://platform.openai.com/docs/api-reference/responses-streaming."""
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "output": []}
    base |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    events = [{"type": "response.created", "response": base | {"status": "in_progress"}}]
    items = []
    for index, part in enumerate(turn):
        item, deltas = _item(index, part)
        items.append(item)
        empty = {"content": []} if isinstance(part, str) else {"arguments": ""}
        added = item | {"status": "in_progress"} | empty
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": added},
            *deltas,
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}}
    done = base | {"status": "completed", "output": items, "usage": usage | {"total_tokens": 120}}
    events.append({"type": "response.completed", "response": done})
    numbered = [event | {"sequence_number": n} for n, event in enumerate(events)]
    return sse(*numbered, named=True)


def _item(index, part):
    if isinstance(part, str):
        name = f"msg_{index}"
        text = {"type": "output_text", "text": part, "annotations": []}
        item = {"id": name, "type": "message", "role": "assistant", "content": [text]}
        at = {"item_id": name, "output_index": index, "content_index": 0}
        return item | {"status": "completed"}, [
            {"type": "response.content_part.added", "part": text | {"text": ""}, **at},
            {"type": "response.output_text.delta", "delta": part, "logprobs": [], **at},
            {"type": "response.output_text.done", "text": part, "logprobs": [], **at},
        ]
    tool, given = part
    text = json.dumps(given)
    item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}"}
    item |= {"name": tool, "arguments": text, "status": "completed"}
    at = {"item_id": f"fc_{index}", "output_index": index}
    return item, [
        {"type": "response.function_call_arguments.delta", "delta": text, **at},
        {"type": "response.function_call_arguments.done", "arguments": text, "name": tool, **at},
    ]


def google(turn):
    """https://ai.google.dev/api/generate-content (streamGenerateContent)."""
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    events = []
    for index, part in enumerate(turn):
        if isinstance(part, str):
            said = {"text": part}
        else:
            said = {"functionCall": {"name": part[0], "args": part[1]}}
        candidate = {"content": {"role": "model", "parts": [said]}, "index": 0}
        last = index == len(turn) - 1
        candidate |= {"finishReason": "STOP"} if last else {}
        more = {"usageMetadata": usage, "modelVersion": MODEL, "responseId": "r1"}
        events.append({"candidates": [candidate], **more})
    return sse(*events)


FORMATS = (
    ("/v1/messages", anthropic),
    ("/v1/chat/completions", chat),
    ("/v1/responses", responses),
    (":streamGenerateContent", google),
)
