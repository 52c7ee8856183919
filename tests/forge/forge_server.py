"""A small forge on loopback that keeps GitHub's rules, for tests: issues, comments, labels, pulls.

It knows people and what they may, gives ETags and pages, wants to be left alone when told to, and
takes its branches from a real bare repository. Whatever it answers is held against the published
shapes (`forge_shapes`): `mismatches` has what does not fit. People act by its methods, programs by
HTTP with a token: the bot's, or one of `tokens`. `listen_at` serves a socket file beside, as `gh`
asks one (`http_unix_socket`), by the addresses of GitHub Enterprise (`/api/v3/…`).

    with ForgeServer("acme/shop", bare) as forge:
        forge.people["ada"] = "write"
        number = forge.open_issue("ada", "Export bookings", "as CSV")
        forge.label("ada", number, "runner")
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import subprocess
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import ThreadingMixIn, UnixStreamServer
from urllib.parse import parse_qs, unquote, urlsplit

import forge_shapes as shapes
import jsonschema

RIGHTS = {  # what a role is told as, and what the collaborator's endpoint calls it
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
}
ENTERPRISE = re.compile(r"\A/api/(?:v3/)?")
DRAFTS = re.compile(r"mutation\(.*?\)\{(convertPullRequestToDraft|markPullRequestReadyForReview)\(")
VALIDATORS = {}
"""By the identity of a shape, which lives as long as its module."""
CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:#|GH-|https://forge\.test/acme/shop/issues/)"
    r"(\d+)",
    re.IGNORECASE,
)
"""Of this repository, in the forms that GitHub takes (docs.github.com, "Autolinked references and
URLs"): in a pull request's text, and in commits that come into the default branch."""


class RefusalError(Exception):
    """An answer that is no success."""

    def __init__(self, status, message, errors=None, headers=None):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.document = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if errors:
            self.document["errors"] = errors


class ForgeServer:
    """One repository with its people; `bot` is whose token programs have."""

    def __init__(self, name, bare=None, *, bot="runner-bot", default="main"):
        self.name, self.bare, self.bot, self.default = name, bare, bot, default
        self.token = f"token-of-{bot}"
        self.tokens = {self.token: bot}
        """Whose they are: a call with one is theirs."""
        self._who = bot
        self.people = {bot: "write"}
        self.issues, self.comments, self.events, self.statuses = {}, {}, [], []
        self.edits, self.parts, self.blockers, self.reviews = {}, {}, {}, []
        self.calls, self.mismatches = [], []
        """Every request (method, path, status); answers that do not fit GitHub's shapes."""
        self.busy = []
        self.has_drafts = True
        """Refusals (status, headers) for the next requests."""
        self.before = None
        """Called with (method, path, document) before a request is carried out."""
        self.after = None
        """Called with the same once it is carried out, before its answer goes out."""
        self.page = 100
        self._labels_there = {}
        self._ids, self._lock = itertools.count(1), threading.RLock()
        self._server = None
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
        self._server.daemon_threads = True
        self._server.forge = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def listen_at(self, file):
        server = _AtFile(str(file), _Answering)
        server.forge = self
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield file
        finally:
            server.shutdown()
            server.server_close()

    @property
    def address(self):
        port = self._server.server_port if self._server else 0
        return f"http://127.0.0.1:{port}"

    # --- what people do -----------------------------------------------------------------

    def open_issue(self, author, title, body=""):
        with self._lock:
            now = self._tick()
            number = len(self.issues) + 1
            self.issues[number] = {
                "number": number,
                "title": title,
                "body": body,
                "user": author,
                "state": "open",
                "labels": [],
                "assignees": [],
                "created_at": now,
                "updated_at": now,
                "closed_at": None,
            }
            return number

    def label(self, actor, number, label):
        """A label is the repository's: one that differs by case alone is the same."""
        with self._lock:
            issue = self.issues[number]
            label = self._labels_there.setdefault(label.casefold(), label)
            if label not in issue["labels"]:
                issue["labels"].append(label)
                self._happen(number, "labeled", actor, label={"name": label, "color": "ededed"})

    def unlabel(self, actor, number, label):
        with self._lock:
            label = self._labels_there.get(label.casefold(), label)
            if label not in self.issues[number]["labels"]:
                raise RefusalError(404, "Label does not exist")
            self.issues[number]["labels"].remove(label)
            self._happen(number, "unlabeled", actor, label={"name": label, "color": "ededed"})

    def edit_issue(self, editor, number, *, title=None, body=None):
        with self._lock:
            issue = self.issues[number]
            if body is not None:
                first = (issue["created_at"], issue["user"], issue["body"])
                issue["body"] = body
                issue["updated_at"] = self._tick()
                kept = self.edits.setdefault(number, [first])
                kept.append((issue["updated_at"], editor, body))
            if title is not None:
                rename = {"from": issue["title"], "to": title}
                issue["title"] = title
                self._happen(number, "renamed", editor, rename=rename)

    def close_issue(self, actor, number):
        with self._lock:
            self.issues[number]["state"] = "closed"
            self._happen(number, "closed", actor)
            self.issues[number]["closed_at"] = self.issues[number]["updated_at"]

    def reopen_issue(self, actor, number):
        with self._lock:
            self.issues[number].update(state="open", closed_at=None)
            self._happen(number, "reopened", actor)

    def comment(self, author, number, body):
        with self._lock:
            id_ = next(self._ids)
            now = self._tick()
            self.comments[id_] = {
                "id": id_,
                "number": number,
                "user": author,
                "body": body,
                "created_at": now,
                "updated_at": now,
            }
            self.issues[number]["updated_at"] = now
            return id_

    def edit_comment(self, id_, body):
        with self._lock:
            self.comments[id_].update(body=body, updated_at=self._tick())

    def add_part(self, actor, number, part):
        """Put an issue below another one, as who may triage can."""
        with self._lock:
            if any(part in below for below in self.parts.values()):
                raise RefusalError(422, "Sub issue may only have one parent")
            self.parts.setdefault(number, []).append(part)
            self._happen(number, "sub_issue_added", actor)

    def block(self, number, by):
        with self._lock:
            self.blockers.setdefault(number, []).append(by)

    def review(self, author, number, body="", state="CHANGES_REQUESTED", lines=()):
        """A review of a pull request; `lines` are (path, line, body)."""
        with self._lock:
            id_ = next(self._ids)
            self.reviews.append(
                {
                    "id": id_,
                    "number": number,
                    "user": author,
                    "body": body,
                    "state": state,
                    "submitted_at": self._tick(),
                    "commit_id": self._head(self.issues[number]["pull"]),
                    "lines": [(next(self._ids), *one) for one in lines],
                }
            )
            self.issues[number]["updated_at"] = self.reviews[-1]["submitted_at"]
            return id_

    def merge(self, actor, number):
        """Merge a pull request, and close what its text says that it closes."""
        with self._lock:
            pull = self.issues[number]["pull"]
            if pull["draft"]:
                raise RefusalError(405, "Pull Request is still a draft")
            said = self._git("log", "--format=%B", f"{pull['base']}..{self._head(pull)}")
            self._git("update-ref", f"refs/heads/{pull['base']}", self._head(pull))
            pull["merged_at"] = self._tick()
            self.close_issue(actor, number)
            for found in CLOSING.findall(f"{self.issues[number]['body']}\n{said}"):
                if int(found) in self.issues:
                    self.close_issue(actor, int(found))

    # --- how it stands ------------------------------------------------------------------

    def comments_of(self, number):
        return [one for one in self.comments.values() if one["number"] == number]

    @property
    def pulls(self):
        return [one for one in self.issues.values() if "pull" in one]

    def writes(self):
        return [one for one in self.calls if one[0] != "GET" and one[1] != "/graphql"]

    def _tick(self):
        self._now += timedelta(seconds=1)
        return f"{self._now:%Y-%m-%dT%H:%M:%SZ}"

    def _happen(self, number, kind, actor, **more):
        event = {"id": next(self._ids), "number": number, "event": kind, "actor": actor, **more}
        event["created_at"] = self.issues[number]["updated_at"] = self._tick()
        self.events.append(event)

    def _git(self, *words):
        done = subprocess.run(
            ["git", f"--git-dir={self.bare}", *words], capture_output=True, check=False
        )
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def sha_of(self, branch):
        return self._git("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")

    def _head(self, pull):
        if pull["merged_at"] is None:
            pull["sha"] = self.sha_of(pull["head"]) or pull["sha"]
        return pull["sha"]

    # --- what programs ask --------------------------------------------------------------

    def answer(self, method, target, document, login=""):
        """Status, shape and document of one call, the bot's or another's; raises RefusalError."""
        place = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(place.query).items()}
        words = [unquote(one) for one in place.path.strip("/").split("/")]
        with self._lock:
            self._who = login or self.bot
            if (method, words) == ("GET", ["user"]):
                return 200, shapes.USER, self._user(self._who)
            if (method, words) == ("POST", ["graphql"]):
                return self._ask(document["query"], document["variables"])
            if words[0] != "repos" or "/".join(words[1:3]) != self.name:
                raise RefusalError(404, "Not Found")
            if method != "GET" and self.people.get(self._who) not in ("write", "admin"):
                raise RefusalError(403, "Resource not accessible by personal access token")
            return self._carry_out(method, words[3:], query, document)

    def _ask(self, query, variables):
        """GraphQL: who edited, and the two ways of a draft; what it refuses is told by 200, too."""
        found = DRAFTS.match(query)
        if found is None:
            return 200, shapes.EDITED, self._edited(variables)
        (issue,) = [one for one in self.pulls if f"PR_{one['number']}" == variables["id"]]
        is_draft = found[1] == "convertPullRequestToDraft"
        wrong = ""
        if self.people.get(self._who) not in ("write", "admin"):
            wrong = f"{self._who} does not have the correct permissions to execute `{found[1]}`"
        elif issue["state"] != "open":
            wrong = "Pull request is closed"
        elif is_draft and not self.has_drafts:
            wrong = "Draft pull requests are not supported in this repository."
        if wrong:
            return (
                200,
                shapes.MOVED_DRAFT,
                {"data": {found[1]: None}, "errors": [{"message": wrong}]},
            )
        issue["pull"]["draft"] = is_draft
        issue["updated_at"] = self._tick()
        return 200, shapes.MOVED_DRAFT, {"data": {found[1]: {"pullRequest": {"isDraft": is_draft}}}}

    def _carry_out(self, method, words, query, said):
        match (method, *words):
            case ("GET",):
                return 200, shapes.REPOSITORY, self._repository()
            case ("GET", "issues"):
                return 200, shapes.ISSUES, self._issues(query)
            case ("GET", "issues", number):
                return 200, shapes.ISSUE, self._issue(self._known(number))
            case ("GET", "issues", number, "comments"):
                self._known(number)
                found = self.comments_of(int(number))
                return 200, shapes.COMMENTS, [self._comment(one) for one in found]
            case ("GET", "issues", number, "events"):
                self._known(number)
                found = [one for one in self.events if one["number"] == int(number)]
                return 200, shapes.EVENTS, [self._event(one) for one in found]
            case ("GET", "issues", number, "sub_issues"):
                self._known(number)
                below = self.parts.get(int(number), ())
                return 200, shapes.ISSUES, [self._issue(self.issues[one]) for one in below]
            case ("GET", "issues", number, "dependencies", "blocked_by"):
                self._known(number)
                before = self.blockers.get(int(number), ())
                return 200, shapes.ISSUES, [self._issue(self.issues[one]) for one in before]
            case ("GET", "pulls", number, "reviews"):
                self._known(number)
                found = [one for one in self.reviews if one["number"] == int(number)]
                return 200, shapes.REVIEWS, [self._review(one) for one in found]
            case ("GET", "pulls", number, "reviews", id_, "comments"):
                (one,) = [one for one in self.reviews if str(one["id"]) == id_]
                lines = [self._line(one, *told) for told in one["lines"]]
                return 200, shapes.LINE_COMMENTS, lines
            case ("GET", "collaborators", login, "permission"):
                return 200, shapes.PERMISSION, self._permission(login)
            case ("GET", "pulls"):
                return 200, shapes.PULLS, self._pulls(query)
            case ("GET", "commits", sha, "statuses"):
                found = [one for one in reversed(self.statuses) if one["sha"] == sha]
                return 200, shapes.STATUSES, [self._status(one) for one in found]
        return self._write(method, words, said)

    def _write(self, method, words, said):
        match (method, *words):
            case ("POST", "issues"):
                return 201, shapes.ISSUE, self._issue(self._open_own(said))
            case ("PATCH", "issues", number):
                return 200, shapes.ISSUE, self._issue(self._change_issue(number, said))
            case ("POST", "issues", number, "sub_issues"):
                self._known(number)
                part = self._need(said, "sub_issue_id") - 1000
                self.add_part(self._who, int(number), self._known(str(part))["number"])
                return 201, shapes.ISSUE, self._issue(self.issues[int(number)])
            case ("DELETE", "issues", number, "assignees"):
                issue = self._known(number)
                gone = self._need(said, "assignees")
                issue["assignees"] = [one for one in issue["assignees"] if one not in gone]
                return 200, shapes.ISSUE, self._issue(issue)
            case ("POST", "issues", number, "comments"):
                self._known(number)
                id_ = self.comment(self._who, int(number), self._need(said, "body"))
                return 201, shapes.COMMENT, self._comment(self.comments[id_])
            case (("PATCH" | "DELETE"), "issues", "comments", id_):
                return self._change_comment(method, int(id_), said)
            case ("POST", "issues", number, "labels"):
                issue = self._known(number)
                for label in self._need(said, "labels"):
                    self.label(self._who, int(number), label)
                return 200, shapes.LABELS, self._labels(issue)
            case ("DELETE", "issues", number, "labels", label):
                issue = self._known(number)
                self.unlabel(self._who, int(number), label)
                return 200, shapes.LABELS, self._labels(issue)
            case ("POST", "issues", number, "assignees"):
                issue = self._known(number)
                able = [one for one in self._need(said, "assignees") if one in self.people]
                issue["assignees"] = list(dict.fromkeys([*issue["assignees"], *able]))[:10]
                return 201, shapes.ISSUE, self._issue(issue)
            case ("POST", "pulls"):
                return 201, shapes.PULL, self._pull(self._open_pull(said))
            case ("PATCH", "pulls", number):
                issue = self._known(number)
                issue["body"] = self._need(said, "body")
                issue["updated_at"] = self._tick()
                return 200, shapes.PULL, self._pull(issue)
            case ("POST", "statuses", sha):
                return 201, shapes.STATUS, self._status(self._add_status(sha, said))
        raise RefusalError(404, "Not Found")

    def _known(self, number):
        if not number.isdigit() or int(number) not in self.issues:
            raise RefusalError(404, "Not Found")
        return self.issues[int(number)]

    @staticmethod
    def _need(said, name):
        if not isinstance(said, dict) or not said.get(name):
            raise RefusalError(422, "Validation Failed", [{"field": name, "code": "missing_field"}])
        if isinstance(said[name], str) and len(said[name]) > 65_536:
            raise RefusalError(422, "Validation Failed", [{"field": name, "code": "too_long"}])
        return said[name]

    def _change_comment(self, method, id_, said):
        if id_ not in self.comments:
            raise RefusalError(404, "Not Found")
        if method == "DELETE":
            del self.comments[id_]
            return 204, None, None
        self.edit_comment(id_, self._need(said, "body"))
        return 200, shapes.COMMENT, self._comment(self.comments[id_])

    def _open_own(self, said):
        number = self.open_issue(self._who, self._need(said, "title"), said.get("body") or "")
        for label in said.get("labels", ()):
            self.label(self._who, number, label)
        return self.issues[number]

    def _change_issue(self, number, said):
        issue = self._known(number)
        if said.get("title", issue["title"]) != issue["title"]:
            self.edit_issue(self._who, int(number), title=said["title"])
        if said.get("state", issue["state"]) != issue["state"]:
            act = self.close_issue if said["state"] == "closed" else self.reopen_issue
            act(self._who, int(number))
        return issue

    def open_pull(self, actor, head, base, title, body="", repository=""):
        """As who may read can, too; `repository` is a fork's name, if it is of one."""
        asked = {"head": head, "base": base, "title": title, "body": body}
        return self._open_pull(asked, actor, repository)["number"]

    def _open_pull(self, said, actor="", repository=""):
        head, base = self._need(said, "head"), self._need(said, "base")
        sha, onto = self.sha_of(head), self.sha_of(base)
        if not sha or not onto:
            raise RefusalError(422, "Validation Failed", [{"field": "head", "code": "invalid"}])
        asked = (head, base, repository or self.name)
        if any(
            (one["pull"]["head"], one["pull"]["base"], one["pull"]["repository"]) == asked
            and one["state"] == "open"
            for one in self.pulls
        ):
            text = f"A pull request already exists for acme:{head}."
            raise RefusalError(422, "Validation Failed", [{"message": text}])
        if self._git("rev-list", "--count", f"{onto}..{sha}") == "0":
            text = f"No commits between {base} and {head}"
            raise RefusalError(422, "Validation Failed", [{"message": text}])
        if said.get("draft") and not self.has_drafts:
            text = "Draft pull requests are not supported in this repository."
            raise RefusalError(422, "Validation Failed", [{"message": text}])
        number = self.open_issue(
            actor or self._who, self._need(said, "title"), said.get("body") or ""
        )
        pull = {"head": head, "base": base, "sha": sha, "merged_at": None}
        pull["repository"], pull["draft"] = repository or self.name, said.get("draft", False)
        self.issues[number]["pull"] = pull
        return self.issues[number]

    def _add_status(self, sha, said):
        if not self._git("cat-file", "-e", f"{sha}^{{commit}}") and not self._has(sha):
            raise RefusalError(422, f"No commit found for SHA: {sha}")
        status = {
            "id": next(self._ids),
            "sha": sha,
            "state": self._need(said, "state"),
            "context": said.get("context", "default"),
            "description": said.get("description"),
            "created_at": self._tick(),
            "creator": self._who,
        }
        if len(status["description"] or "") > 140:
            raise RefusalError(422, "Validation Failed", [{"field": "description"}])
        self.statuses.append(status)
        return status

    def _has(self, sha):
        return bool(self._git("rev-parse", "-q", "--verify", f"{sha}^{{commit}}"))

    # --- documents ----------------------------------------------------------------------

    def _url(self, *words):
        return "/".join((self.address, "repos", self.name, *map(str, words)))

    def _user(self, login):
        if not login:
            return None
        return {
            "login": login,
            "id": int(hashlib.sha256(login.encode()).hexdigest()[:6], 16),
            "node_id": f"U_{login}",
            "url": f"{self.address}/users/{login}",
            "html_url": f"https://forge.test/{login}",
            "type": "Bot" if login.endswith("[bot]") else "User",
            "site_admin": False,
        }

    def _association(self, login):
        role = self.people.get(login)
        if role is None:
            return "NONE"
        return "OWNER" if login == self.name.partition("/")[0] else "COLLABORATOR"

    def _repository(self, full_name=""):
        owner, _, name = (full_name or self.name).partition("/")
        return {
            "id": 1,
            "node_id": "R_1",
            "name": name,
            "full_name": f"{owner}/{name}",
            "private": False,
            "default_branch": self.default,
            "owner": self._user(owner),
        }

    def _labels(self, issue):
        return [
            {
                "id": number,
                "node_id": f"LA_{number}",
                "url": self._url("labels", number),
                "name": name,
                "description": None,
                "color": "ededed",
                "default": False,
            }
            for number, name in enumerate(issue["labels"], start=1)
        ]

    def _issues(self, query):
        state, wanted = query.get("state", "open"), query.get("labels", "").split(",")
        found = [
            one
            for one in self.issues.values()
            if state in ("all", one["state"])
            and query.get("creator", one["user"]) == one["user"]
            and all(
                label.casefold() in map(str.casefold, one["labels"]) for label in wanted if label
            )
        ]
        newest_first = query.get("direction", "desc") == "desc"
        found.sort(key=lambda one: one["created_at"], reverse=newest_first)
        return [self._issue(one) for one in found]

    def _issue(self, issue):
        at = self._url("issues", issue["number"])
        kind = "pull" if "pull" in issue else "issues"
        said = {
            **{name: value for name, value in issue.items() if name != "pull"},
            "id": 1000 + issue["number"],
            "node_id": f"I_{issue['number']}",
            "url": at,
            "html_url": f"https://forge.test/{self.name}/{kind}/{issue['number']}",
            "comments_url": f"{at}/comments",
            "events_url": f"{at}/events",
            "labels_url": f"{at}/labels{{/name}}",
            "repository_url": self._url(),
            "user": self._user(issue["user"]),
            "labels": self._labels(issue),
            "assignee": self._user(next(iter(issue["assignees"]), "")),
            "assignees": [self._user(one) for one in issue["assignees"]],
            "milestone": None,
            "locked": False,
            "comments": len(self.comments_of(issue["number"])),
            "author_association": self._association(issue["user"]),
        }
        below = [self.issues[one]["state"] for one in self.parts.get(issue["number"], ())]
        done = below.count("closed")
        said["sub_issues_summary"] = {
            "total": len(below),
            "completed": done,
            "percent_completed": 100 * done // (len(below) or 1),
        }
        before = [self.issues[one]["state"] for one in self.blockers.get(issue["number"], ())]
        behind = sum(issue["number"] in one for one in self.blockers.values())
        said["issue_dependencies_summary"] = {
            "blocked_by": before.count("open"),
            "total_blocked_by": len(before),
            "blocking": behind,
            "total_blocking": behind,
        }
        above = [one for one, below in self.parts.items() if issue["number"] in below]
        said["parent_issue_url"] = self._url("issues", above[0]) if above else None
        if "pull" in issue:
            page = f"https://forge.test/{self.name}/pull/{issue['number']}"
            said["pull_request"] = {
                "url": self._url("pulls", issue["number"]),
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
            }
        return said

    def _comment(self, one):
        at = f"https://forge.test/{self.name}/issues/{one['number']}#issuecomment-{one['id']}"
        return {
            **{name: value for name, value in one.items() if name != "number"},
            "node_id": f"IC_{one['id']}",
            "url": self._url("issues", "comments", one["id"]),
            "html_url": at,
            "issue_url": self._url("issues", one["number"]),
            "user": self._user(one["user"]),
            "author_association": self._association(one["user"]),
        }

    def _review(self, one):
        pull = self._url("pulls", one["number"])
        page = f"https://forge.test/{self.name}/pull/{one['number']}"
        return {
            **{name: one[name] for name in ("id", "body", "state", "submitted_at", "commit_id")},
            "node_id": f"PRR_{one['id']}",
            "user": self._user(one["user"]),
            "html_url": f"{page}#pullrequestreview-{one['id']}",
            "pull_request_url": pull,
            "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
            "author_association": self._association(one["user"]),
        }

    def _line(self, review, id_, path, line, body):
        pull = self._url("pulls", review["number"])
        at = self._url("pulls", "comments", id_)
        page = f"https://forge.test/{self.name}/pull/{review['number']}#discussion_r{id_}"
        return {
            "id": id_,
            "node_id": f"PRRC_{id_}",
            "url": at,
            "body": body,
            "diff_hunk": "@@ -0,0 +1 @@",
            "path": path,
            "position": line,
            "original_position": line,
            "line": line,
            "original_line": line,
            "side": "RIGHT",
            "commit_id": review["commit_id"],
            "original_commit_id": review["commit_id"],
            "user": self._user(review["user"]),
            "pull_request_review_id": review["id"],
            "html_url": page,
            "pull_request_url": pull,
            "_links": {name: {"href": at} for name in ("self", "html", "pull_request")},
            "author_association": self._association(review["user"]),
            "created_at": review["submitted_at"],
            "updated_at": review["submitted_at"],
        }

    def _event(self, one):
        return {
            **{name: value for name, value in one.items() if name != "number"},
            "node_id": f"E_{one['id']}",
            "url": self._url("issues", "events", one["id"]),
            "actor": self._user(one["actor"]),
            "commit_id": None,
            "commit_url": None,
        }

    def _edited(self, asked):
        if f"{asked['owner']}/{asked['name']}" != self.name or asked["number"] not in self.issues:
            raise RefusalError(404, "Not Found")
        kept = self.edits.get(asked["number"], [])
        nodes = [
            {"editedAt": time, "editor": {"login": who} if who else None, "diff": text}
            for time, who, text in reversed(kept)  # the newest first, and no more than was asked
        ][:100]
        last = nodes[0] if nodes else {"editedAt": None, "editor": None}
        said = {"lastEditedAt": last["editedAt"], "editor": last["editor"]}
        return {"data": {"repository": {"issue": {**said, "userContentEdits": {"nodes": nodes}}}}}

    def _permission(self, login):
        role = self.people.get(login)
        if role is None:
            return {"permission": "read", "role_name": "read", "user": self._user(login)}
        return {"permission": RIGHTS[role], "role_name": role, "user": self._user(login)}

    def _pulls(self, query):
        state, head = query.get("state", "open"), query.get("head", "").partition(":")[2]
        found = [
            self._pull(one)
            for one in self.pulls
            if state in ("all", one["state"])
            and head in ("", one["pull"]["head"])
            and query.get("base", one["pull"]["base"]) == one["pull"]["base"]
        ]
        return sorted(found, key=lambda one: one["number"], reverse=True)

    def _pull(self, issue):
        pull, owner = issue["pull"], self.name.partition("/")[0]
        sides = {"head": self._head(pull), "base": self.sha_of(pull["base"])}
        return {
            "id": 5000 + issue["number"],
            "node_id": f"PR_{issue['number']}",
            "url": self._url("pulls", issue["number"]),
            "html_url": f"https://forge.test/{self.name}/pull/{issue['number']}",
            "issue_url": self._url("issues", issue["number"]),
            "number": issue["number"],
            "state": issue["state"],
            "locked": False,
            "title": issue["title"],
            "user": self._user(issue["user"]),
            "body": issue["body"] or None,
            "created_at": issue["created_at"],
            "updated_at": issue["updated_at"],
            "closed_at": issue["closed_at"],
            "merged_at": pull["merged_at"],
            "merge_commit_sha": None,
            "draft": pull["draft"],
            **{
                side: {
                    "label": f"{owner}:{pull[side]}",
                    "ref": pull[side],
                    "sha": sha,
                    "user": self._user(owner),
                    "repo": self._repository(pull["repository"] if side == "head" else ""),
                }
                for side, sha in sides.items()
            },
        }

    def _status(self, one):
        return {
            **{name: value for name, value in one.items() if name != "sha"},
            "node_id": f"SC_{one['id']}",
            "url": self._url("statuses", one["sha"]),
            "target_url": None,
            "updated_at": one["created_at"],
            "creator": self._user(one["creator"]),
        }

    # --- rules of every answer ----------------------------------------------------------

    def check(self, method, target, shape, document):
        """Hold an answer against the published shape."""
        if shape is None:
            return
        if id(shape) not in VALIDATORS:
            VALIDATORS[id(shape)] = jsonschema.Draft202012Validator(shape)
        for mistake in VALIDATORS[id(shape)].iter_errors(document):
            self.mismatches.append(f"{method} {target}: {mistake.json_path}: {mistake.message}")


def _name_call(path, document):
    """The path; of a mutation with its name behind it, for only that is a call that writes."""
    found = DRAFTS.match(document["query"]) if path == "/graphql" else None
    return f"{path}/{found[1]}" if found else path


class _AtFile(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        forge = self.server.forge
        size = int(self.headers.get("Content-Length") or 0)
        document = json.loads(self.rfile.read(size)) if size else None
        headers = {}
        target = ENTERPRISE.sub("/", self.path)
        path = _name_call(urlsplit(target).path, document)
        try:
            if self.path == "/api/v3/graphql":  # of an enterprise's forge it is beside the REST API
                raise RefusalError(404, "Not Found")
            _, _, token = self.headers.get("Authorization", "").partition(" ")
            login = forge.tokens.get(token)
            if login is None:
                raise RefusalError(401, "Bad credentials")
            if forge.busy:
                status, headers = forge.busy.pop(0)
                raise RefusalError(status, "You have exceeded a rate limit", headers=headers)
            if forge.before:
                forge.before(self.command, path, document)
            status, shape, said = forge.answer(self.command, target, document, login)
            if forge.after:
                forge.after(self.command, path, document)
            said, headers = self._cut(said)
        except RefusalError as refused:
            status, shape, said = refused.status, shapes.MISTAKE, refused.document
            headers = refused.headers
        except ConnectionAbortedError:  # a test has the answer lost
            self.close_connection = True
            forge.calls.append((self.command, path, 0))
            return
        forge.check(self.command, target, shape, said)
        self._send(status, said, headers, path)

    do_POST = do_PATCH = do_DELETE = do_GET

    def _cut(self, said):
        """One page of a list, with where the next one is."""
        if not isinstance(said, list) or self.command != "GET":
            return said, {}
        place = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(place.query).items()}
        size = min(int(query.get("per_page", 30)), self.server.forge.page)
        page = int(query.get("page", 1))
        left = said[page * size :]
        kept = "&".join(f"{name}={value}" for name, value in query.items() if name != "page")
        following = f"http://{self.headers['Host']}{place.path}?{kept}&page={page + 1}"
        cut = said[(page - 1) * size : page * size]
        return cut, {"Link": f'<{following}>; rel="next"'} if left else {}

    def _send(self, status, said, headers, path):
        content = b"" if said is None else json.dumps(said).encode()
        tag = f'W/"{hashlib.sha256(content).hexdigest()}"'
        if self.command == "GET" and status == 200:
            headers = {**headers, "ETag": tag}
            if self.headers.get("If-None-Match") == tag:
                status, content = 304, b""
        self.server.forge.calls.append((self.command, path, status))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass
