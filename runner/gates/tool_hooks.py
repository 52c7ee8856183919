"""What stands before test programs that are not Python: a preload of Node, `go` and `cargo`.

Each keeps the end of what its own process printed, and its exit, where the reports of a check are
collected. A program that another test program started is let through untouched.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.shim import own_folder
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.base import Place

_FOLDER = "hooks"
_TOOLS = ("go", "cargo")

_NODE = r"""'use strict';
// Loaded before every program of Node in a proof. Whatever goes wrong here, the program runs on.
(() => {
  const env = process.env, out = env.RUNNER_REPORT_OUT;
  if (!out || env.RUNNER_REPORT_WITHIN) return;
  try {
    if (!require('worker_threads').isMainThread) return;
    const fs = require('fs'), path = require('path');
    const script = process.argv[1] || '';
    const names = 'jest|vitest|_?mocha|ava|tap|jasmine|karma|playwright|cypress|wdio|uvu|qunit';
    const isTool = new RegExp(`^(?:${names})$`);
    const installed = script.split(/[\\/]node_modules[\\/]/).slice(1).pop() || '';
    const inside = /^(?:\.bin[\\/])?(?:@[^\\/]+[\\/])?([^\\/]+)/.exec(installed);
    const owner = inside ? inside[1].replace(/-cli$/, '') : '';
    const base = path.basename(script).replace(/\.[cm]?js$/, '');
    let tool = '';
    if (process.execArgv.includes('--test')) tool = 'node';
    else if (isTool.test(base)) tool = base.replace('_', '');
    else if (isTool.test(owner)) tool = owner;
    else if (/react-scripts[\\/]scripts[\\/]test/.test(script)) tool = 'jest';
    else if (!script || inside || /[\\/]npm[\\/]/.test(script)) return;
    const chain = env.RUNNER_REPORT_CHAIN || '';
    env.RUNNER_REPORT_CHAIN = chain ? `${chain},${process.pid}` : String(process.pid);
    if (tool && tool !== 'mocha') env.RUNNER_REPORT_WITHIN = String(process.pid);
    if (tool && env.RUNNER_REPORT_NODE && env.NODE_OPTIONS) {
      env.NODE_OPTIONS = env.NODE_OPTIONS.replace(env.RUNNER_REPORT_NODE, '').trim();
      if (!env.NODE_OPTIONS) delete env.NODE_OPTIONS;
    }
    const volatile = /^(?:_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|NODE_OPTIONS|npm_.*|RUNNER_.*)$/;
    const given = Object.entries(env).filter(([name]) => !volatile.test(name)).sort();
    const again = /^--(?:onlyFailures|last-failed)$/;
    const words = process.argv.slice(2).filter((word) => !again.test(word));
    const key = JSON.stringify([script, words, process.execArgv, process.cwd(), given]);
    let tail = '';
    const keep = (chunk) => {
      tail += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      if (tail.length > 131072) tail = tail.slice(-65536);
    };
    for (const name of ['stdout', 'stderr']) {
      const own = Object.getOwnPropertyDescriptor(process, name);
      let known;
      Object.defineProperty(process, name, { ...own, get() {
        const stream = own.get.call(process);
        if (stream && !known) {
          known = stream;
          const write = stream.write;
          stream.write = function written(chunk, ...rest) {
            try { keep(chunk); } catch { /* it is the program's own trouble */ }
            return write.call(this, chunk, ...rest);
          };
        }
        return stream;
      } });
    }
    process.on('exit', (code) => {
      try {
        const modules = process.moduleLoadList || [];
        const loaded = modules.some((one) => one.endsWith(' internal/test_runner/harness'));
        if (!tool && !loaded) return;
        const digest = require('crypto').createHash('sha1').update(key).digest('hex');
        const who = { tool: tool || 'node', pid: process.pid, chain, key: digest };
        const about = { ...who, exit: code, tail };
        const file = path.join(out, `node-${Date.now()}-${process.pid}.json`);
        fs.writeFileSync(file, JSON.stringify(about));
      } catch { /* as above */ }
    });
  } catch { /* as above */ }
})();
"""

_SHELL = """\
#!/bin/sh
# Stands before {tool} in a proof: keeps what its tests say, and passes on its exit.
real={real}
case " $1 $2 $3 " in
  *" test "* | *" t "* | *" nextest "*) ;;
  *) exec "$real" "$@" ;;
esac
if [ -z "$RUNNER_REPORT_OUT" ] || [ -n "$RUNNER_REPORT_WITHIN" ]; then exec "$real" "$@"; fi
export RUNNER_REPORT_WITHIN=$$
file=$RUNNER_REPORT_OUT/{tool}-$$
about() {{ env | grep -v '^RUNNER_\\|^_=\\|^SHLVL=\\|PWD=' | sort; pwd; printf '%s\\n' "$@"; }}
printf '%s\\n%s\\n%s\\n' "$$" "$RUNNER_REPORT_CHAIN" "$(about "$@" | cksum)" > "$file.about"
{{ "$real" "$@"; echo $? > "$file.exit"; }} | tee "$file.out"
code=1
read -r code < "$file.exit"
exit "$code"
"""


def laid_out_hooks(place: Place, environment: Mapping[str, str]) -> Path:
    """The folder with the preload and, in `bin`, what stands before `go` and `cargo`.

    Commands may write there, so all of it is made right again each time.
    """
    folder = own_folder(place.box, _FOLDER)
    programs = own_folder(place.box, _FOLDER, "bin")
    _put(folder / "report.cjs", _NODE.encode(), 0o644)
    for tool in _TOOLS:
        real = which(tool, environment)
        if real is not None and not real.is_relative_to(programs):
            text = _SHELL.format(tool=tool, real=shlex.quote(str(real)))
            _put(programs / tool, text.encode(), 0o755)
    return folder


def _put(file: Path, content: bytes, mode: int) -> None:
    fresh = not file.is_symlink() and file.is_file() and file.read_bytes() == content
    if not fresh or not os.access(file, os.X_OK if mode & 0o100 else os.R_OK):
        effects.write_file(file, content, mode=mode)


def node_words(folder: Path) -> str:
    """What NODE_OPTIONS is given (Node's own quoting)."""
    quoted = str(folder / "report.cjs").replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{quoted}"'
