"""The scripts that make Node's test tools report results per test, and lines of vitest.

jest and mocha are met as they are loaded, whoever loads them; vitest and Node's own runner are
given arguments of theirs. Each writes what it ran beside what it printed, in a file of its own.

The coverage provider is for projects of vitest that have none installed. Workers of vitest are
ended before Node writes what they counted, and what they run is compiled in memory, behind a first
line of the tool's own. So each asks its engine itself, and the main process writes the counts with
their source maps in the form of NODE_V8_COVERAGE (`coverage/v8`).
"""

from __future__ import annotations

PRELOAD = r"""'use strict';
// Loaded before every program of Node in a proof. Whatever goes wrong here, the program runs on.
(() => {
  const env = process.env, out = env.RUNNER_REPORT_OUT;
  if (!out || env.RUNNER_REPORT_WITHIN) return;
  try {
    if (!require('worker_threads').isMainThread) return;
    const fs = require('fs'), path = require('path');
    const script = process.argv[1] || '';
    const others = 'ava|tap|tape|jasmine|karma|playwright|cypress|wdio|uvu|qunit';
    const names = `jest|vitest|_?mocha|${others}`;
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
    const stem = env.RUNNER_REPORT_STEM || path.join(out, `node-${Date.now()}-${process.pid}`);
    if (tool === 'node' && !env.RUNNER_REPORT_STEM && reported(stem)) return;
    delete env.RUNNER_REPORT_STEM;
    const chain = env.RUNNER_REPORT_CHAIN || '';
    env.RUNNER_REPORT_CHAIN = chain ? `${chain},${process.pid}` : String(process.pid);
    if (tool && tool !== 'mocha') env.RUNNER_REPORT_WITHIN = String(process.pid);
    const volatile = /^(?:_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|NODE_OPTIONS|npm_.*|RUNNER_.*)$/;
    const given = Object.entries(env).filter(([name]) => !volatile.test(name)).sort();
    const again = /^--(?:onlyFailures|last-failed)$/;
    const words = process.argv.slice(2).filter((word) => !again.test(word));
    const options = process.execArgv.filter((word) => !word.includes(out));
    const key = JSON.stringify([script, words, options, process.cwd(), given]);
    const digest = require('crypto').createHash('sha1').update(key).digest('hex');
    if (tool === 'vitest' && inside) asked(`${stem}.tests`);
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
    let jest = null, mocha = null;
    let going = false;
    meet((name, done) => {
      tool = name;
      going = done === 'begins';
      if (going) fs.writeFileSync(`${stem}.started`, '');
      else if (done === 'ends') fs.unlinkSync(`${stem}.started`);
      else if (name === 'jest') jest = done;
      else mocha = (mocha || []).concat(done);
      going = going || (name === 'mocha' && done !== 'ends');
    });
    let ended = null;
    const report = (code) => {
      if (ended === code) return;
      ended = code;
      try {
        const modules = process.moduleLoadList || [];
        const loaded = modules.some((one) => one.endsWith(' internal/test_runner/harness'));
        // Of a script that nobody knows what it printed counts, where it failed the last time.
        const unknown = path.join(out, `script-${digest}.json`);
        const known = tool || (loaded ? 'node' : '');
        if (!known && !code) return fs.rmSync(unknown, { force: true });
        const who = { tool: known || 'script', pid: process.pid, chain, key: digest };
        const about = { ...who, exit: code, tail };
        if (!known) return fs.writeFileSync(unknown, JSON.stringify(about));
        const cut = { titles: ['(ended before its tests did)'], file: '', status: 'fail' };
        if (going && mocha && !code) mocha.push(cut);
        going = false;
        const tests = jest ? { testResults: jest } : mocha ? { tests: mocha } : null;
        if (tests) fs.writeFileSync(`${stem}.tests`, JSON.stringify(tests));
        fs.writeFileSync(`${stem}.json`, JSON.stringify(about));
      } catch { /* as above */ }
    };
    process.on('exit', report);
    // tape and others say how they end once others heard that the process does.
    const end = process.reallyExit;
    process.reallyExit = function ended(code) {
      report(Number(code === undefined ? process.exitCode : code) || 0);
      return end.apply(this, arguments);
    };
  } catch { /* as above */ }

  // Node's own runner once more, with a report of its own beside what it prints.
  function reported(stem) {
    const flags = process.allowedNodeEnvironmentFlags;
    const own = process.execArgv.some((word) => /^--(?:test-reporter|watch)/.test(word));
    if (own || !flags.has('--test-reporter') || !require('node:test/reporters').junit) return false;
    const words = [
      '--test-reporter=junit', `--test-reporter-destination=${stem}.xml`,
      '--test-reporter=spec', '--test-reporter-destination=stdout',
    ];
    const done = require('child_process').spawnSync(
      process.execPath, [...words, ...process.execArgv, ...process.argv.slice(1)],
      { stdio: 'inherit', env: { ...env, RUNNER_REPORT_STEM: stem } },
    );
    if (done.error) return false;
    if (done.signal) process.kill(process.pid, done.signal);
    process.exit(done.status);
  }

  // Vitest's own JSON, beside the reporters that a person named here or in the settings.
  function asked(file) {
    const fs = require('fs');
    const words = process.argv.slice(2);
    const folder = env.RUNNER_COVER_LCOV;
    if (folder) fs.mkdirSync(require('path').join(folder, 'ran-vitest'), { recursive: true });
    const first = words.find((word) => !word.startsWith('-'));
    const other = /^(?:-h|--help|-v|--version|--mergeReports.*)$/;
    const is = (pattern) => words.some((word) => pattern.test(word));
    if (/^(?:bench|list|init|complete)$/.test(first) || is(other)) return;
    // Some versions watch for changes even without a terminal; a second such word is an error.
    if (!is(/^(?:--(?:no-)?watch(?:=|$)|-w$|--run$)/)) process.argv.push('--watch=false');
    if (is(/^--outputFile/)) return;
    const more = ['--reporter=json', `--outputFile.json=${file}`, ...lines(words)];
    if (!is(/^--reporter/)) {
      const named = [];
      for (const text of settings(rootOf(words))) {
        if (/\boutputFile\b/.test(text)) return;
        const list = /\breporters\s*:\s*(\[[^\][]*\]|['"][\w-]+['"])/.exec(text);
        if (!list && /\breporters\b/.test(text)) return;
        if (list) named.push(...[...list[1].matchAll(/['"]([^'"]+)['"]/g)].map((one) => one[1]));
      }
      more.unshift(...(named.length ? named : ['default']).map((one) => `--reporter=${one}`));
    }
    process.argv.push(...more);
  }

  // The folder that vitest takes for the project: it names files from there.
  function rootOf(words) {
    const root = given(words, /^(?:--root|-r)(?:=|$)/);
    return require('path').resolve(root || '.');
  }

  // What its settings say: of those that lie there, and of the file that is named.
  function settings(root) {
    const fs = require('fs'), path = require('path');
    const names = fs.readdirSync(root).filter((one) => /^vite(?:st)?\.config\.\w+$/.test(one));
    const words = process.argv.slice(2), named = given(words, /^(?:--config|-c)(?:=|$)/);
    const whole = [...names, ...(named ? [named] : [])].map((one) => path.resolve(root, one));
    return [...new Set(whole)].filter(fs.existsSync).map((one) => fs.readFileSync(one, 'utf8'));
  }

  // The value of an option, as a word of its own or after `=`; empty where it is not given.
  function given(words, option) {
    const at = words.findIndex((word) => option.test(word));
    if (at < 0) return '';
    const [, ...value] = words[at].split('=');
    return value.length ? value.join('=') : words[at + 1] || '';
  }

  // Lines by vitest itself, where it can, else by our own provider; a goal of its own is not ours.
  function lines(words) {
    const fs = require('fs'), path = require('path');
    const has = (name) => {
      const at = path.resolve('package.json');
      try { return !!require('module').createRequire(at).resolve(`@vitest/${name}`); }
      catch (error) { return error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED'; }
    };
    if (!env.RUNNER_COVER_LCOV || words.includes('--no-coverage')) return [];
    const says = (name) => words.some((word) => word.split('=')[0] === `--coverage.${name}`);
    const own = words.some((word) => word.startsWith('--coverage'));
    const root = rootOf(words), texts = settings(root);
    const installed = ['v8', 'istanbul'].filter((name) => has(`coverage-${name}`));
    if (!installed.length) {
      const ours = path.join(__dirname, 'vitest.mjs');
      // A browser would be asked to load it; what a person asks for fails as it would.
      const browsers = ['', '-playwright', '-webdriverio', '-preview'];
      if (own || browsers.some((name) => has(`browser${name}`)) || !fs.existsSync(ours)) return [];
      const words = ['enabled=true', 'provider=custom', `customProviderModule=${ours}`];
      return words.map((word) => `--coverage.${word}`);
    }
    delete env.NODE_V8_COVERAGE; // both would take the same counts
    const goals = ['lines', 'functions', 'branches', 'statements'];
    const folder = path.join(env.RUNNER_COVER_LCOV, `vitest-${process.pid}`);
    // Settings may name another provider, or `undefined`: by that none measures, no goal holds.
    const saying = (pattern) => texts.some((text) => pattern.test(text));
    const provider = saying(/\bprovider\s*:\s*['"]istanbul['"]/) ? 'istanbul' : 'v8';
    const held = own && (says('provider') || !saying(/\bprovider\s*:\s*(?:undefined|null)\b/));
    // Where settings choose what is measured, nothing of other packages would be.
    const chosen = saying(/\bcoverage\s*:\s*\{[^{}]*\binclude\s*:/);
    const place = says('reportsDirectory') && given(words, /^--coverage\.reportsDirectory(?:=|$)/);
    process.on('exit', () => {
      try {
        if (place) {
          fs.mkdirSync(folder, { recursive: true });
          fs.copyFileSync(path.resolve(root, place, 'lcov.info'), path.join(folder, 'lcov.info'));
        }
        fs.writeFileSync(path.join(folder, 'root'), root);
      } catch { /* there is no report */ }
    });
    // An option that is given twice is refused, but for lists.
    const once = {
      enabled: 'true',
      allowExternal: 'true', // other packages of the repository lie outside of this one's root
      reportsDirectory: folder,
      provider: installed.includes(provider) ? provider : installed[0],
      ...(held ? {} : Object.fromEntries(goals.map((name) => [`thresholds.${name}`, '0']))),
    };
    const more = Object.keys(once).filter((name) => !says(name));
    process.argv = process.argv.filter((word) => word !== '--coverage'); // vitest 1 wants dots only
    return [
      ...more.map((name) => `--coverage.${name}=${once[name]}`),
      '--coverage.reporter=lcovonly', ...(chosen ? ['--coverage.include=**'] : []),
    ];
  }

  // jest and mocha as they are loaded: what their own runs say of each test.
  function meet(tell) {
    const Module = require('module');
    const load = Module._load, met = new Map();
    Module._load = function loaded(request, parent, ...rest) {
      const found = load.call(this, request, parent, ...rest);
      try {
        if (request === '@jest/core') return core(found);
        const from = parent && parent.filename;
        const mine = from && /[\\/]mocha[\\/]lib[\\/]/.test(from);
        if (mine && /runner(?:\.[cm]?js)?$/.test(request)) runner(found.Runner || found);
      } catch { /* as above */ }
      return found;
    };
    function core(found) {
      if (!found || typeof found.runCLI !== 'function') return found;
      if (met.has(found)) return met.get(found);
      const run = found.runCLI;
      const value = async (...words) => {
        try { measured(words[0]); } catch { /* as above */ }
        try { tell('jest', 'begins'); } catch { /* as above */ }
        const done = await run(...words);
        try {
          tell('jest', 'ends');
          const folder = words[0].coverageDirectory;
          const root = require('path').join(folder || '', 'root');
          if (folder && env.RUNNER_COVER_LCOV && folder.startsWith(env.RUNNER_COVER_LCOV)) {
            require('fs').writeFileSync(root, done.globalConfig.rootDir);
          }
          tell('jest', done.results.testResults.map(suite));
        } catch { /* as above */ }
        return done;
      };
      const own = Object.getOwnPropertyDescriptors(found);
      const as = { ...own, runCLI: { value, enumerable: true } };
      met.set(found, Object.create(Object.getPrototypeOf(found), as));
      return met.get(found);
    }
    // Lines by jest itself, of every file that it loads; a goal of its own is not ours.
    function measured(argv) {
      const lcov = env.RUNNER_COVER_LCOV;
      if (!lcov || !argv || argv.coverage === false) return;
      if (!argv.coverage && !argv.collectCoverage) argv.coverageThreshold = '{}';
      argv.coverage = true;
      argv.collectCoverageFrom = [];
      argv.coveragePathIgnorePatterns = ['/node_modules/'];
      argv.coverageReporters = ['lcovonly'];
      argv.coverageDirectory = require('path').join(lcov, `jest-${process.pid}`);
    }
    function suite(one) {
      const error = one.testExecError || (one.failureMessage && !one.testResults.length);
      const each = (test) => ({
        ancestorTitles: test.ancestorTitles, title: test.title, status: test.status,
        failureMessages: (test.failureMessages || []).map((text) => String(text).slice(0, 4000)),
      });
      const message = error ? String(one.failureMessage || '').slice(0, 4000) : '';
      const status = error ? 'failed' : 'passed';
      const assertionResults = one.testResults.map(each);
      return { name: one.testFilePath, status, message, assertionResults };
    }
    function runner(found) {
      const type = found && found.prototype;
      if (!type || typeof type.run !== 'function' || typeof type.emit !== 'function') return;
      if (met.has(found) || met.has(Object.getPrototypeOf(found))) return;
      met.set(found, found);
      const emit = type.emit;
      type.emit = function emitted(event, test, error) {
        try {
          if (event === 'start') tell('mocha', 'begins');
          if (event === 'end') tell('mocha', 'ends');
          if (event === 'pass' || event === 'pending' || event === 'fail') {
            const titles = test.titlePath ? test.titlePath() : [test.title];
            const text = error ? String(error.stack || error.message || error).slice(0, 4000) : '';
            const one = { titles, file: test.file || '', status: event, message: text };
            tell('mocha', [one]);
          }
        } catch { /* as above */ }
        return emit.apply(this, arguments);
      };
    }
  }
})();
"""


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
