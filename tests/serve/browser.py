"""Chromium without a window, by the DevTools protocol: what a person would see and press."""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "chromium is not installed, so no page is looked at in a browser"
PATIENCE = 90


class Browser:
    """One browser of its own, with nothing in it."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="chromium-")
        self.process = subprocess.Popen(
            [
                *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio"),
                *("--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"),
                *("--force-device-scale-factor=1", "--remote-debugging-port=0"),
                *(f"--user-data-dir={self.home}", "about:blank"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        said = Path(self.home) / "DevToolsActivePort"
        until = time.monotonic() + PATIENCE
        while not (said.exists() and said.read_text().count("\n")):
            assert time.monotonic() < until, "chromium does not begin"
            time.sleep(0.05)
        self.port = int(said.read_text().split()[0])

    def person(self):
        """Somebody with cookies and tabs of their own."""
        return Person(self.port)

    def tab(self):
        return self.person().tab()

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class Person:
    """One person's browser: nobody else in the same Chromium has its cookies or its storage."""

    def __init__(self, port):
        self._port = port
        version = f"http://127.0.0.1:{port}/json/version"
        with urllib.request.urlopen(version, timeout=PATIENCE) as answer:
            self._main = Line(json.load(answer)["webSocketDebuggerUrl"])
        self._context = self._main.call("Target.createBrowserContext")["browserContextId"]

    def tab(self):
        """A new tab, in front of the others."""
        made = self._main.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        return Tab(f"ws://127.0.0.1:{self._port}/devtools/page/{made['targetId']}")

    def close(self):
        """Every tab of it, too."""
        self._main.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._main.close()


class Line:
    """Calls of the protocol, one after the other, and what is told meanwhile."""

    def __init__(self, address):
        from websockets.sync.client import connect

        self._socket = connect(address, max_size=None, open_timeout=PATIENCE, ping_interval=None)
        self._numbers = itertools.count(1)
        self.errors = []
        self.streams = set()

    def call(self, method, **params):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._hear(message)

    def _hear(self, message):
        if message["method"] == "Log.entryAdded":
            self.errors.append(message["params"]["entry"]["text"])
        elif message["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]["exceptionDetails"])[:500])
        elif message["method"] == "Network.requestWillBeSent":
            if message["params"]["request"]["url"].endswith("/events"):
                self.streams.add(message["params"]["requestId"])
        elif message["method"] == "Page.frameNavigated":
            self.streams.clear()
        elif message["method"] in ("Network.loadingFailed", "Network.loadingFinished"):
            self.streams.discard(message["params"]["requestId"])

    def close(self):
        self._socket.close()


class Tab(Line):
    """One tab: it goes somewhere, runs a script, is pressed and looked at."""

    def __init__(self, address):
        super().__init__(address)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def script(self, text):
        answer = self.call(
            "Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while True:
            try:
                value = self.script(condition)
            except AssertionError:  # the page went away meanwhile
                value = None
            if value:
                return value
            assert time.monotonic() < end, f"{condition}: {self.text[:2000]}"
            time.sleep(0.1)

    def follows(self, *, wanted):
        """Wait until the tab has an open stream, or none."""
        end = time.monotonic() + PATIENCE
        while bool(self.streams) != wanted:
            assert time.monotonic() < end, self.streams
            self.script("0")  # which hears what came meanwhile
            time.sleep(0.05)

    def go(self, address):
        self.call("Page.navigate", url=address)
        self.until(
            f"location.href.startsWith({json.dumps(address.partition('#')[0])})"
            " && document.readyState === 'complete'"
        )

    def enter(self, link):
        """Open a link, and be let in."""
        self.call("Page.navigate", url=link)
        self.until(
            "location.pathname !== '/open' && location.protocol === 'http:'"
            " && document.readyState === 'complete'"
        )

    @property
    def text(self):
        return self.script("document.body ? document.body.innerText : ''")

    def press(self, selector):
        self.until(f"!!document.querySelector({json.dumps(selector)})")
        self.script(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector, text):
        quoted = json.dumps(selector)
        self.until(f"!!document.querySelector({quoted})")
        self.script(
            f"{{const one = document.querySelector({quoted}); one.value = {json.dumps(text)};"
            " one.dispatchEvent(new Event('input', {bubbles: true}))}"
        )

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                text=key if kind == "keyDown" and len(key) == 1 else "",
            )

    def as_seen(self, *, width=1280, height=900, dark=False):
        """The page in a window of this size, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def look(self, file, *, width=1280, height=900, dark=False, whole=False):
        """A picture of the page."""
        self.as_seen(width=width, height=height, dark=dark)
        time.sleep(0.2)
        if whole:
            height = min(4000, self.script("document.documentElement.scrollHeight"))
            self.as_seen(width=width, height=height, dark=dark)
            time.sleep(0.1)
        shot = self.call("Page.captureScreenshot", format="png")
        Path(file).write_bytes(base64.b64decode(shot["data"]))
