"""A tiny server of the Model Context Protocol: two tools, in two pages, and a lot of noise."""

import json
import os
import sys
import time
from pathlib import Path


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def tool(name, purpose):
    properties = {"text": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["text"]}
    return {"name": name, "description": purpose, "inputSchema": schema}


def called(params):
    text = params["arguments"].get("text", "")
    if params["name"] == "shout":
        return {"content": [{"type": "text", "text": text.upper()}, {"type": "image"}]}
    if text == "hang":
        time.sleep(60)
    if text == "stale":
        say({"id": 99, "result": {"content": [{"type": "text", "text": "not for you"}]}})
    while text in ("spin", "chatter"):  # never silent, and never done
        sys.stdout.write("|\b" if text == "spin" else "")
        say({"method": "notifications/progress"}) if text == "chatter" else sys.stdout.flush()
        time.sleep(0.02)
    if text == "die":
        os._exit(3)
    if text == "write":
        Path("made-by-server").write_text("x")
    if text == "token":
        return {"content": [{"type": "text", "text": "no: " + os.environ["TINY_TOKEN"]}]}
    shown = {name: os.environ.get(name) for name in ("FOR_SERVER", "NOT_FOR_SERVER")}
    return {"content": [], "structuredContent": shown, "isError": text == "fail"}


def main():
    sys.stdout.write("listening on standard input\n")  # noise that is no message
    sys.stderr.write("to be logged\n")
    for line in sys.stdin:
        if os.environ.get("TINY_TOKEN", "").startswith("refused"):
            say({"id": 1, "error": {"message": "no: " + os.environ["TINY_TOKEN"]}})
        asked = json.loads(line)
        number = asked.get("id")
        if asked.get("method") == "initialize":
            say({"method": "notifications/message", "params": {}})
            say({"id": "q1", "method": "ping"})
            say({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}})
        elif asked.get("method") == "tools/list" and "cursor" not in asked["params"]:
            purpose = os.environ.get("PURPOSE", "Says it loud.")
            first = [tool("shout", purpose), tool("bad name!", "")]
            say({"id": number, "result": {"tools": first, "nextCursor": "2"}})
        elif asked.get("method") == "tools/list":
            say({"id": number, "result": {"tools": [tool("show", "Shows variables.")]}})
        elif asked.get("method") == "tools/call":
            say({"id": number, "result": called(asked["params"])})
        elif number not in (None, "q1"):
            say({"id": number, "error": {"code": -32601, "message": "no such method"}})


main()
