"""An issue at the small forge with a builder that builds at once; a forge that dies at one call."""

from fake_builder import FakeBuilder
from forge_server import RefusalError

from runner.extensions.bridge.forge import ForgeError
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import GitHub
from runner.extensions.bridge.issue_work import IssueWork
from runner.model import ReviewMode


class KilledError(BaseException):
    """As a kill would come: nothing of ours may catch it."""


class Killing:
    """A forge of which one call is the last, made or not: by its number, or the first so named."""

    def __init__(self, forge, last=None, *, first="", is_made=False):
        self.forge, self.last, self.first, self.is_made = forge, last, first, is_made
        self.calls = []

    def __getattr__(self, name):
        call = getattr(self.forge, name)

        def carry_out(*words, **more):
            self.calls.append(name)
            is_last = len(self.calls) - 1 == self.last
            is_last |= name == self.first and self.calls.count(name) == 1
            if is_last and not self.is_made:
                raise KilledError
            came = call(*words, **more)
            if is_last:
                raise KilledError
            return came

        return carry_out


class Direct:
    """The same answers without a socket: hundreds of stories are told of kills."""

    def __init__(self, server):
        self.server = server

    def read(self, path):
        return self.write("GET", path)

    def read_all(self, path, _hint=""):
        return self.read(path)

    def ask(self, query, variables, **_):
        said = self.write("POST", "/graphql", {"query": query, "variables": variables})
        return said["data"]

    def write(self, method, path, document=None):
        try:
            _, shape, said = self.server.answer(method, path, document)
        except RefusalError as error:
            raise ForgeError(str(error), status=error.status) from None
        self.server.check(method, path, shape, said)
        return said


class Case:
    """An issue, the forge it is in, and what was built for it."""

    def __init__(self, server, head, http=None):
        self.server, self.builder = server, FakeBuilder(head)
        self.number = server.open_issue("eve", "Export closes #7 @all", "as CSV")
        self.forge = GitHub(http or ForgeHttp(server.address, server.token), "acme/shop")
        self.mode = ReviewMode.PROMPT

    def label(self, who="ada"):
        self.server.label(who, self.number, "runner")
        return self

    def advance(self, forge=None, **more):
        return self.make_work(forge, **more).advance()

    def make_work(self, forge=None, **more):
        self.forge.forget_rights()
        if not self.builder.ready:  # a clone alone outlives the bridge
            self.builder.branch = ""
        words = (self.number, "runner", "main", "runner-bot")
        return IssueWork(forge or self.forge, self.builder, *words, mode=self.mode, **more)

    def say(self, text, who="ada"):
        return self.server.comment(who, self.number, text)

    @property
    def status(self):
        ours = [one for one in self.server.comments_of(self.number) if one["user"] == "runner-bot"]
        (said,) = ours
        return said["body"]

    @property
    def digest(self):
        return self.builder.facts.draft.digest.removeprefix("sha256:")[:12]

    @property
    def labels(self):
        return set(self.server.issues[self.number]["labels"]) - {"runner"}

    def approve(self, who="ada"):
        self.say(f"/runner approve {self.digest}", who)
        return self.advance()
