"""An agent program of our own for tests: does what a script says, and talks as the real ones do.

    agent.command = "python3 stand_in.py script.json"

The script is JSON: for each task the steps of each attempt (the last goes on for all later ones);
in plan mode it tells a plan that names the files which its steps write, or the plan of the script.

A separate author plays the rounds of `author`, each with its steps and its last message `say`; for
surviving mutants those of `mutants`.

    {"from": "a folder with finished files",
     "tasks": {"TASK-002": {"plan": {...}, "review": "APPROVE", "attempts": [[step, ...], ...]}}}

Steps, each an object with one of these keys:

    write PATH (content)   a file of the project, with `lines` or `content`
    copy PATH              the same file of the folder `from`
    append PATH (content)  more at a file's end
    remove PATH            no file any more
    leak PATH              a file with a key in it, made here, of the shape that is told
    login PATH             a file with the value of the variable `variable` in it
    loop TIMES             the same call of a tool, so many times
    alternate TIMES        two calls in turn
    run LINE               a shell line
    say TEXT               a message
    show brief             the whole brief as a message
    wait SECONDS
    use TOKENS             tells that so many tokens were used; `dollars` too
    fail TEXT              ends with this failure (`exit`, default 1)
    garbage TEXT           prints a line that is no JSON
    hook PATH (content)    asks `$RUNNER_HOOK` by `hook_command` before it writes, as agents do
    decide TITLE           a DECISION block in its last message
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

KEYS = {
    "github": lambda: f"ghp_{hashlib.sha256(b'a stand-in').hexdigest()[:36]}",
    "aws": lambda: f"AKIA{base64.b32encode(hashlib.sha256(b'a stand-in').digest()).decode()[:16]}",
}


class StandIn:
    """One session."""

    def __init__(self, script, environ, brief):
        self.script = script
        self.environ = environ
        self.brief = brief
        self.mode = environ.get("RUNNER_MODE", "execute")
        self.task = script["tasks"].get(environ.get("RUNNER_TASK", ""), {"attempts": [[]]})
        self.calls = 0
        self.tokens = [100, 20]
        self.dollars = 0.001
        self.last = []

    def steps(self):
        """The steps of this attempt."""
        attempts = self.task["attempts"]
        number = int(self.environ.get("RUNNER_ATTEMPT", "1"))
        return attempts[min(number, len(attempts)) - 1]

    def work(self):
        """Everything, to the exit code."""
        say({"type": "system", "subtype": "init", "model": self.environ.get("RUNNER_MODEL", "")})
        if self.mode == "plan":
            return self.end(self.plan())
        if self.mode == "review":
            return self.end(self.task.get("review", "APPROVE"))
        if self.mode == "author":
            rounds = self.task["mutants" if "# Mutants" in self.brief else "author"]
            told = rounds[min(int(self.environ["RUNNER_ATTEMPT"]), len(rounds)) - 1]
            for step in told["steps"]:
                kind = next(iter(step))
                code = getattr(self, f"do_{kind}")(step[kind], step)
                if code is not None:
                    return code
            return self.end(told["say"])
        for step in self.steps():
            kind = next(iter(step))
            code = getattr(self, f"do_{kind}")(step[kind], step)
            if code is not None:
                return code
        return self.end("\n".join(["Done as asked.", *self.last]))

    def plan(self):
        """What the script says of it, else what the steps of its last attempt write."""
        told = self.task.get("plan")
        if isinstance(told, str):
            return told
        kinds = ("write", "copy", "append", "leak", "hook")
        files = [step[kind] for step in self.task["attempts"][-1] for kind in kinds if kind in step]
        plan = {
            "steps": [f"Write {path}" for path in files] or ["Look"],
            "files": list(dict.fromkeys(files)),
            "context": [],
            "type": "",
            "gates": [],
            "phases": [],
        }
        return f"I have looked.\n\n```json plan\n{json.dumps(told or plan)}\n```\n"

    def tool(self, name, arguments, work=lambda: None):
        """Tell a call of a tool, do it, tell that it came back."""
        self.calls += 1
        key = f"toolu_{self.calls}"
        part = {"type": "tool_use", "id": key, "name": name, "input": arguments}
        usage = {"input_tokens": 0, "output_tokens": 0}
        message = {"id": f"msg_{self.calls}", "content": [part], "usage": usage}
        say({"type": "assistant", "message": message})
        work()
        result = {"type": "tool_result", "tool_use_id": key, "content": "ok"}
        say({"type": "user", "message": {"content": [result]}})

    def end(self, text, *, failed=False):
        """The last line, with what it used."""
        usage = {"input_tokens": self.tokens[0], "output_tokens": self.tokens[1]}
        row = {"type": "result", "subtype": "success", "is_error": failed, "result": text}
        say({**row, "usage": usage, "total_cost_usd": self.dollars})
        return 0

    # --- steps ---

    def do_write(self, path, step):
        lines = step.get("lines")
        text = "\n".join(lines) + "\n" if lines is not None else step.get("content", "")
        self.put(path, text)

    def do_copy(self, path, _step):
        self.put(path, Path(self.script["from"], path).read_text())

    def do_append(self, path, step):
        self.put(path, Path(path).read_text() + step.get("content", ""))

    def do_leak(self, path, step):
        self.put(path, f'key = "{KEYS[step.get("shape", "github")]()}"\n')

    def do_login(self, path, step):
        self.put(path, f"value = {self.environ.get(step['variable'])!r}\n")

    def do_remove(self, path, _step):
        self.tool("Bash", {"command": f"rm {path}"}, lambda: Path(path).unlink(missing_ok=True))

    def do_run(self, line, _step):
        run = lambda: subprocess.run(line, shell=True, check=False)  # noqa: E731
        self.tool("Bash", {"command": line}, run)

    def do_loop(self, times, step):
        for _ in range(times):
            self.tool("Read", {"file_path": step.get("path", "README.md")})
            time.sleep(step.get("pause", 0.05))

    def do_alternate(self, times, step):
        for number in range(times):
            self.tool("Read", {"file_path": ("a", "b")[number % 2]})
            time.sleep(step.get("pause", 0.05))

    def do_say(self, text, _step):
        say({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})

    def do_show(self, _what, step):
        self.do_say(self.brief, step)

    def do_wait(self, seconds, _step):
        time.sleep(seconds)

    def do_use(self, tokens, step):
        self.tokens[0] += tokens
        self.dollars += step.get("dollars", 0.0)
        usage = {"input_tokens": tokens, "output_tokens": 0}
        say({"type": "assistant", "message": {"id": "used", "content": [], "usage": usage}})

    def do_garbage(self, text, _step):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def do_fail(self, text, step):
        self.end(text, failed=True)
        return step.get("exit", 1)

    def do_decide(self, title, _step):
        self.last += ["", f"DECISION: {title}", "Decision: as told", ""]

    def do_hook(self, path, step):
        content = step.get("content", "")
        call = {"file_path": str(Path(path).absolute()), "content": content}
        asked = {"tool_name": "Write", "tool_input": call, "cwd": str(Path.cwd())}
        words = self.script.get("hook_command") or [sys.executable, "-P", "-m", "runner", "hook"]
        told = subprocess.run(words, input=json.dumps(asked).encode(), capture_output=True)  # noqa: PLW1510
        if told.returncode == 2:
            self.do_say(f"the hook says: {told.stderr.decode()}", step)
            content = step.get("instead", "")
        self.put(path, content)

    def put(self, path, text):
        """Write a file, as a tool call."""

        def write():
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

        self.tool("Write", {"file_path": path, "content": text}, write)


def say(row):
    """One line of the stream."""
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def install(folder):
    """Put the stand-in into a folder that a sandbox may show; its path."""
    return shutil.copy(__file__, folder / "stand_in.py")


if __name__ == "__main__":
    READ = json.loads(Path(sys.argv[1]).read_text())
    sys.exit(StandIn(READ, dict(os.environ), sys.stdin.read()).work())
