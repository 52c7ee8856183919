"""A Node preload that records which of the repository's scripts a program loads.

The debugger's protocol names each script as it is compiled, whoever loads it: `require`, `import`,
a test tool with a loader of its own, a worker thread. What is no script, such as JSON, is known to
`require`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PRELOAD = r"""'use strict';
// Loaded before every program of Node in a proof. Whatever goes wrong here, the program runs on.
(() => {
  const env = process.env, root = env.RUNNER_WATCH_ROOT, out = env.RUNNER_WATCH_OUT;
  if (!out) return;
  try {
    const fs = require('fs'), { fileURLToPath } = require('url');
    const { Session } = require('inspector');
    const shared = (env.RUNNER_WATCH_SHARED || '').split(':').filter(Boolean);
    const copies = Object.entries(JSON.parse(env.RUNNER_WATCH_COPIES || '{}'));
    const reported = new Set();
    const isForeign = (path) => root && path.startsWith(`${root}/`) &&
      !shared.some((folder) => path.startsWith(`${folder}/`));
    // A copy of a file of the repository that is not what the repository has.
    const isOld = (path) => copies.some(([copy, source]) => {
      if (!path.startsWith(`${copy}/`)) return false;
      const file = source + path.slice(copy.length);
      return fs.existsSync(file) && !fs.readFileSync(file).equals(fs.readFileSync(path));
    });
    const hear = (name) => {
      try {
        const path = name.startsWith('file:') ? fileURLToPath(name) : name;
        if (reported.has(path) || !path.startsWith('/')) return;
        reported.add(path);
        if (!isForeign(path) && !isOld(path)) return;
        fs.appendFileSync(out, `${path}\n`);
      } catch { /* it is not reported */ }
    };
    process.on('exit', () => Object.keys(require.cache).forEach(hear));
    const session = new Session();
    session.connect();
    session.on('Debugger.scriptParsed', ({ params }) => hear(params.url));
    // A `debugger` statement of the program stops nothing.
    session.post('Debugger.setSkipAllPauses', { skip: true });
    session.post('Debugger.enable');
  } catch { /* a Node without inspector */ }
})();
"""


def quote(file: Path) -> str:
    """Return the NODE_OPTIONS that preload a file, quoted as Node requires."""
    quoted = str(file).replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{quoted}"'
