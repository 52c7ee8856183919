"""GitHub's published description of its API, from npm's `@octokit/openapi`: read, never kept here.

    api = PublishedApi.load(folder)     # None where npm cannot get it
    api.mistakes_of_answer("GET", "/repos/acme/shop/issues", 200, document)

What is required of answers is left out: a double leaves out what nobody reads. Whatever it does
say has to be described there, and of that type; what is asked has to be whole.
"""

import io
import json
import re
import shutil
import subprocess
import tarfile

import jsonschema

PACKAGE = "@octokit/openapi"
MEMBER = "package/generated/api.github.com.json"
SECONDS = 180


def download(folder):
    """The description as bytes, in the folder from then on; None with why not where it is away."""
    file = folder / "api.github.com.json"
    if file.is_file():
        return file.read_bytes(), ""
    npm = shutil.which("npm")
    if npm is None:
        return None, "npm is not here"
    try:
        done = subprocess.run(
            [npm, "pack", "--silent", PACKAGE],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"npm did not get {PACKAGE} in {SECONDS} s"
    if done.returncode:
        return None, f"npm cannot get {PACKAGE}: {done.stderr.strip()[-200:]}"
    archive = folder / done.stdout.split()[-1]
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as packed:
        content = packed.extractfile(MEMBER).read()
    archive.unlink()
    file.write_bytes(content)
    return content, ""


class PublishedApi:
    def __init__(self, document):
        self.document = document
        self.paths = [
            (re.compile(re.sub(r"\\{[^/]+\\}", "[^/]+", re.escape(path)) + r"\Z"), path)
            for path in sorted(document["paths"], key=lambda path: path.count("{"))
        ]

    def _find(self, method, path):
        for pattern, name in self.paths:
            told = self.document["paths"][name].get(method.lower())
            if told is not None and pattern.match(path):
                return self._resolve(told)
        return None

    def _resolve(self, told):
        while "$ref" in told:
            place = self.document
            for word in told["$ref"].removeprefix("#/").split("/"):
                place = place[word]
            told = place
        return told

    def _schema(self, told, *, whole, is_closed=True):
        """As JSON schema of 2020-12: references put in, `nullable` as a type, required or not.

        What is put together of several may have what each of them has.
        """
        told = self._resolve(told)
        made = {}
        for name, value in told.items():
            if name in ("properties", "patternProperties"):
                made[name] = {k: self._schema(v, whole=whole) for k, v in value.items()}
            elif name in ("anyOf", "oneOf", "allOf"):
                key = "anyOf" if name == "oneOf" else name
                closed = is_closed and key == "anyOf"
                made[key] = [self._schema(one, whole=whole, is_closed=closed) for one in value]
            elif name in ("items", "additionalProperties") and isinstance(value, dict):
                made[name] = self._schema(value, whole=whole)
            elif name in ("type", "enum", "additionalProperties") or (whole and name == "required"):
                made[name] = value
        if is_closed and "properties" in made and "additionalProperties" not in made:
            made["additionalProperties"] = False
        if told.get("nullable"):
            made = {"anyOf": [made, {"type": "null"}]}
        return made

    def _mistakes(self, told, document, *, whole):
        content = self._resolve(told).get("content", {}).get("application/json")
        if content is None:
            return ["it is described without a document"] if document is not None else []
        validator = jsonschema.Draft202012Validator(self._schema(content["schema"], whole=whole))
        return [f"{one.json_path}: {one.message[:300]}" for one in validator.iter_errors(document)]

    def mistakes_of_answer(self, method, path, status, document):
        """What does not fit in an answer, in words."""
        told = self._find(method, path)
        if told is None:
            return ["there is no such call"]
        answer = told["responses"].get(str(status))
        if answer is None:
            return [f"it never answers {status}"]
        return self._mistakes(answer, document, whole=False)

    def mistakes_of_request(self, method, path, document):
        """What does not fit in what is asked."""
        told = self._find(method, path)
        if told is None:
            return ["there is no such call"]
        asked = told.get("requestBody")
        if asked is None:
            return ["it takes no document"] if document is not None else []
        return self._mistakes(asked, document, whole=True)


def load(folder):
    """The published API, or None with why it cannot be had."""
    content, why_not = download(folder)
    return (PublishedApi(json.loads(content)), "") if content else (None, why_not)
