// The page's one script: the second secret, the live stream, keys and the theme.
// No secret is ever in a cookie that a script can read, nor in an address that a server sees.
(() => {
  "use strict";
  const KEY = "runner-secret";
  const root = document.documentElement;
  const stream = document.body.dataset.stream || "";
  const isTeam = "team" in document.body.dataset;
  const notice = document.getElementById("notice");
  const say = (text) => {
    if (!notice) return;
    notice.hidden = !text;
    notice.firstElementChild.textContent = text;
  };

  // --- the theme: the person's, kept here; else the system's
  const kept = localStorage.getItem("runner-theme");
  if (kept) root.dataset.theme = kept;
  const theme = document.getElementById("theme");
  if (theme) theme.addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("runner-theme", root.dataset.theme);
  });

  // --- the link: its fragment is posted once, and gone from the address at once
  const open = document.getElementById("open");
  const said = document.getElementById("open-said");
  const enter = (token) => fetch("/session", {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify({token}),
  }).then(async (answer) => {
    if (answer.ok) {
      sessionStorage.setItem(KEY, (await answer.json()).secret);
      location.replace("/");
      return;
    }
    said.hidden = false;
    said.textContent = answer.status === 429
      ? "Too many attempts. Wait a minute, then try again."
      : isTeam
        ? "This token is unknown, revoked or expired."
        : "This link was already used, or belongs to an earlier server.";
  });
  if (open) {
    const token = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    const form = document.getElementById("sign-in");
    if (form) form.addEventListener("submit", (event) => {
      event.preventDefault();
      enter(document.getElementById("token").value.trim());
    });
    else if (token) enter(token);
    return;
  }

  // --- tabs of one browser hand the secret on to each other, within this very origin
  const tabs = new BroadcastChannel("runner"), refused = new Set();
  tabs.onmessage = (event) => {
    const mine = sessionStorage.getItem(KEY);
    if (event.data === "ask" && mine) tabs.postMessage({secret: mine});
    if (event.data && event.data.secret && !mine && !refused.has(event.data.secret)) {
      sessionStorage.setItem(KEY, event.data.secret);
      say("");
      follow();
    }
  };
  const READING = isTeam
    ? "You or this tab are no longer signed in. Go to /open and sign in."
    : "This tab is read-only. For a link that can answer, run: runner serve --link";
  const ask = () => {
    tabs.postMessage("ask");
    setTimeout(() => { if (!sessionStorage.getItem(KEY)) say(READING); }, 700);
  };
  if (!sessionStorage.getItem(KEY)) ask();
  // One of an older session, as after another link: not handed on, and another tab's is taken.
  const refuse = (secret) => {
    refused.add(secret);
    if (sessionStorage.getItem(KEY) === secret) sessionStorage.removeItem(KEY);
    ask();
  };

  document.addEventListener("htmx:configRequest", (event) => {
    const secret = sessionStorage.getItem(KEY);
    if (secret) event.detail.headers["X-Runner-Secret"] = secret;
  });
  // What an answer came to is shown whatever its status is: 409 has the words for it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400 && event.detail.requestConfig.verb === "post") {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });
  // What one did is seen at once, also where no stream tells of it.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful || event.detail.requestConfig.verb !== "post") return;
    const form = event.target.closest("#live form");
    if (form) {
      form.reset();
      document.activeElement.blur();
    }
    changed();
  });
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 401) refuse(sessionStorage.getItem(KEY));
  });
  // A page that is drawn anew stays where it was looked at: the graph keeps its place.
  let place = null;
  document.addEventListener("htmx:beforeSwap", () => {
    const graph = document.querySelector(".graph");
    place = graph && [graph.scrollLeft, graph.scrollTop];
  });
  document.addEventListener("htmx:afterSwap", () => {
    const graph = document.querySelector(".graph");
    if (graph && place) [graph.scrollLeft, graph.scrollTop] = place;
  });
  document.addEventListener("htmx:sendError", () => say("The server does not respond. Run: runner serve"));

  // --- the stream: read by fetch, since it carries a header; goes on behind the last id it had
  let last = "", controller = null, pause = 500, due = 0;
  // What somebody is typing, or choosing, in a part that is drawn anew is not taken from them.
  const isTyping = () => {
    const live = document.getElementById("live"), at = document.activeElement;
    if (!live) return false;
    return live.contains(at) && at.matches("select")
      || [...live.querySelectorAll('input[type="text"], textarea')]
        .some((one) => one.value !== one.defaultValue);
  };
  const changed = () => {
    clearTimeout(due);
    due = setTimeout(() => {
      if (isTyping()) changed();
      else document.body.dispatchEvent(new Event("runner:changed"));
    }, 250);
  };
  async function follow() {
    const secret = sessionStorage.getItem(KEY);
    if (!stream || !secret || controller || document.hidden) return;
    controller = new AbortController();
    const mine = controller;
    try {
      const headers = {"Accept": "text/event-stream", "X-Runner-Secret": secret};
      headers["Last-Event-ID"] = last || document.body.dataset.last || "";
      const answer = await fetch(stream, {headers, signal: mine.signal});
      if (answer.status === 401) { controller = null; refuse(secret); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      say("");
      pause = 500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const {value, done} = await reader.read();
        if (done) break;
        const pieces = (rest + value).split("\n\n");
        rest = pieces.pop();
        for (const piece of pieces) {
          const id = /^id: (.*)$/m.exec(piece);
          if (id) { last = id[1]; changed(); }
        }
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      say("The server does not respond; this page may be outdated. Run: runner serve");
    } finally {
      if (controller === mine) controller = null;
    }
    if (!mine.signal.aborted) {
      setTimeout(follow, pause);
      pause = Math.min(pause * 2, 8000);
    }
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && controller) { controller.abort(); controller = null; }
    else { follow(); }
  });
  follow();

  // --- time that goes on, seconds since a moment
  setInterval(() => {
    for (const one of document.querySelectorAll("time[data-since]")) {
      const seconds = Math.max(0, Math.round((Date.now() - Date.parse(one.dataset.since)) / 1000));
      const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
      one.textContent = hours ? `${hours} h ${minutes % 60} min`
        : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
    }
  }, 1000);

  // --- keys: j k move, Enter opens, a r e answer, g b / g r / g l / g p go somewhere
  let before = "";
  document.addEventListener("keydown", (event) => {
    const inside = event.target.closest("input, textarea, select");
    if (event.key === "Escape" && inside) { inside.blur(); return; }
    if (inside || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.indexOf(document.activeElement);
    const key = event.key;
    if (before === "g") {
      before = "";
      const to = document.querySelector(`.tabs a[data-key="${CSS.escape(key)}"]`);
      if (to) to.click();
      return;
    }
    if (key === "g") { before = "g"; return; }
    if ((key === "j" || key === "k") && rows.length) {
      const to = key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
      rows[to].focus();
      rows[to].scrollIntoView({block: "nearest"});
      event.preventDefault();
      return;
    }
    const marked = document.querySelector(`[data-press="${CSS.escape(key)}"]`);
    if (marked) {
      event.preventDefault();
      if (marked.matches("textarea, input")) marked.focus(); else marked.click();
      const edit = key === "e" && document.querySelector("#edit details");
      if (edit) { edit.open = true; edit.querySelector("textarea").focus(); }
    }
  });

  // --- an editor keeps a tab, and what was typed is not lost by a slip
  let dirty = false;
  for (const area of document.querySelectorAll("textarea.code")) {
    area.addEventListener("input", () => { dirty = true; });
  }
  document.addEventListener("submit", () => { dirty = false; });
  addEventListener("beforeunload", (event) => { if (dirty) event.preventDefault(); });
})();
