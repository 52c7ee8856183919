"""A scripted agent of the Agent Client Protocol: `python acp_agent.py SCRIPT HEARD`.

SCRIPT is a JSON list of what it does for each request, in turn: {"on": METHOD, "send": [...]}.
What it sends are messages, `{"raw": TEXT}` for bytes that are none, `{"result": …}` or
`{"error": …}` for the request, `{"ask": METHOD, "params": …}` for a question that is waited for,
`{"write": PATH, "content": …}`, `{"sleep": S}`, `{"stderr": TEXT}`, `{"exit": CODE}`. What it hears
is appended to HEARD.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

SESSION = "s-1"


def put(row):
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def listen(heard):
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with heard.open("a") as file:
        file.write(line)
    return json.loads(line)


def carry_out(step, number, heard):
    if "raw" in step:
        sys.stdout.write(step["raw"])
        sys.stdout.flush()
    elif "result" in step:
        put({"id": number, "result": step["result"], "jsonrpc": "2.0"})
    elif "error" in step:
        put({"error": step["error"], "jsonrpc": "2.0", "id": number})
    elif "ask" in step:
        put({"jsonrpc": "2.0", "id": "q", "method": step["ask"], "params": step.get("params", {})})
        while listen(heard).get("id") != "q":
            pass
    elif "write" in step:
        Path(step["write"]).parent.mkdir(parents=True, exist_ok=True)
        Path(step["write"]).write_text(step["content"])
    elif "sleep" in step:
        time.sleep(step["sleep"])
    elif "stderr" in step:
        sys.stderr.write(step["stderr"] + "\n")
        sys.stderr.flush()
    elif "exit" in step:
        os._exit(step["exit"])
    else:
        update = {"sessionId": SESSION, "update": step}
        put({"jsonrpc": "2.0", "method": "session/update", "params": update})


def main(script, heard):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    steps = json.loads(Path(script).read_text())
    while True:
        row = listen(heard)
        if "id" not in row:
            continue
        at = next((n for n, one in enumerate(steps) if one["on"] == row["method"]), None)
        if at is None:
            put({"jsonrpc": "2.0", "id": row["id"], "error": {"code": -32601, "message": "what?"}})
            continue
        for step in steps.pop(at)["send"]:
            carry_out(step, row["id"], heard)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
