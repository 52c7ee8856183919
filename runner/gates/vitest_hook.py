"""A coverage provider for vitest, for projects that have none installed.

Workers of vitest are ended before Node writes what they counted, and what they run is compiled in
memory, behind a first line of the tool's own. So each asks its engine itself, and the main process
writes the counts with their source maps in the form of NODE_V8_COVERAGE (`coverage/v8`).
"""

from __future__ import annotations

PROVIDER = r"""// Vitest loads this file anew before it asks for counts; what Node loads stays.
import kept from 'data:text/javascript,export default {}';

const made = [], isNode = typeof process === 'object' && !!process.versions?.node;
// In a browser none of them is there, and nothing is counted.
const names = isNode ? ['inspector', 'fs', 'path', 'url'] : [];
const loaded = await Promise.all(names.map((one) => import(/* @vite-ignore */ `node:${one}`)));
const [inspector, fs, path, url] = loaded;

const ask = (method, words) => new Promise((done) => {
  kept.session.post(method, words, (error, answer) => done(error ? null : answer));
});
const pathOf = (name) => (name.startsWith('file:') ? url.fileURLToPath(name) : name).split('?')[0];
const isOwn = (name) => /^(?:file:|\/)/.test(name) && !/[\\/]node_modules[\\/]/.test(name);

async function start() {
  if (!isNode || kept.session) return;
  kept.session = new inspector.Session();
  kept.session.connect();
  await ask('Profiler.enable');
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

// The counts since they were taken last, and the source map of each script that has one.
async function take() {
  if (!kept.session) return null;
  const parsed = new Map();
  const keep = ({ params }) => parsed.set(params.scriptId, params);
  kept.session.on('Debugger.scriptParsed', keep);
  const taken = await ask('Profiler.takePreciseCoverage');
  await ask('Debugger.enable');
  const result = [], maps = {};
  for (const one of taken ? taken.result : []) {
    const about = parsed.get(one.scriptId);
    if (!about || !isOwn(one.url)) continue;
    const script = await ask('Debugger.getScriptSource', { scriptId: one.scriptId });
    const map = script && mapIn(script.scriptSource, pathOf(one.url));
    if (!map) continue;
    // The tool's first words stand before the code, in columns below nought.
    const before = Math.max(0, -about.startColumn);
    const shift = (each) => ({
      ...each,
      startOffset: Math.max(0, each.startOffset - before), endOffset: each.endOffset - before,
    });
    const functions = one.functions.map((each) => ({ ...each, ranges: each.ranges.map(shift) }));
    const lengths = script.scriptSource.slice(before).split('\n').map((line) => line.length);
    const name = `${one.url}?${result.length}`;
    result.push({ ...one, url: name, functions });
    maps[name] = { lineLengths: lengths, data: map, url: null };
  }
  await ask('Debugger.disable');
  kept.session.off('Debugger.scriptParsed', keep);
  return { result, 'source-map-cache': maps };
}

function mapIn(text, file) {
  const at = text.lastIndexOf('//# sourceMappingURL=data:');
  const row = at < 0 ? '' : text.slice(at).split('\n', 1)[0];
  try {
    const map = JSON.parse(Buffer.from(row.slice(row.indexOf(',') + 1), 'base64').toString('utf8'));
    const from = (one) => (one.startsWith('file:') ? url.fileURLToPath(one) : one);
    const sources = map.sources.map((one) => (
      path.resolve(path.dirname(file), map.sourceRoot || '', from(one || file))
    ));
    return { ...map, sources };
  } catch { return null; }
}

const provider = {
  name: 'runner',
  initialize(vitest) { provider.vitest = vitest; },
  resolveOptions() { return provider.vitest.config.coverage; },
  clean() {},
  onAfterSuiteRun({ coverage }) { if (coverage) made.push(coverage); },
  generateCoverage() { return made; },
  reportCoverage() {
    const folder = path.join(process.env.RUNNER_COVER_LCOV, '..', 'v8');
    fs.mkdirSync(folder, { recursive: true });
    made.splice(0).forEach((one, at) => {
      const name = `coverage-${process.pid}-${Date.now()}-${at}.json`;
      fs.writeFileSync(path.join(folder, name), JSON.stringify(one));
    });
  },
};

export default {
  getProvider: () => provider,
  startCoverage: start,
  takeCoverage: take,
  stopCoverage() {},
};
"""
