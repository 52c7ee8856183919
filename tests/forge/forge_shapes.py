"""What GitHub's published API says of the answers that the bridge reads, as far as it reads them.

Written from docs.github.com/rest (version 2022-11-28) and the models of its OpenAPI description:
names, types and what is required; a field that is left out here may have any value.
"""

TEXT, WHOLE, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
SHA = {"type": "string", "pattern": "^[0-9a-f]{40}$"}
URL = {"type": "string", "pattern": "^https?://"}


def maybe(shape):
    return {"anyOf": [shape, {"type": "null"}]}


def listed(shape):
    return {"type": "array", "items": shape}


def one_of(*values):
    return {"enum": list(values)}


def record(optional=(), /, **fields):
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": fields, "required": required}


USER = record(
    login=TEXT, id=WHOLE, node_id=TEXT, url=URL, html_url=URL, type=TEXT, site_admin=TRUTH
)
ASSOCIATION = one_of(
    "COLLABORATOR",
    "CONTRIBUTOR",
    "FIRST_TIMER",
    "FIRST_TIME_CONTRIBUTOR",
    "MANNEQUIN",
    "MEMBER",
    "NONE",
    "OWNER",
)
LABEL = record(
    id=WHOLE, node_id=TEXT, url=URL, name=TEXT, description=maybe(TEXT), color=TEXT, default=TRUTH
)
ISSUE = record(
    ("pull_request",),
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    html_url=URL,
    comments_url=URL,
    events_url=URL,
    labels_url=TEXT,
    repository_url=URL,
    number=WHOLE,
    state=one_of("open", "closed"),
    title=TEXT,
    body=maybe(TEXT),
    user=maybe(USER),
    labels=listed(LABEL),
    assignee=maybe(USER),
    assignees=listed(USER),
    milestone={"type": "null"},
    locked=TRUTH,
    comments=WHOLE,
    closed_at=maybe(TIME),
    created_at=TIME,
    updated_at=TIME,
    author_association=ASSOCIATION,
    pull_request=record(url=URL, html_url=URL, diff_url=URL, patch_url=URL),
    sub_issues_summary=record(total=WHOLE, completed=WHOLE, percent_completed=WHOLE),
    issue_dependencies_summary=record(
        blocked_by=WHOLE, blocking=WHOLE, total_blocked_by=WHOLE, total_blocking=WHOLE
    ),
    parent_issue_url=maybe(URL),
)
LINK = record(href=URL)
REVIEW = record(
    id=WHOLE,
    node_id=TEXT,
    user=maybe(USER),
    body=TEXT,
    state=one_of("APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"),
    html_url=URL,
    pull_request_url=URL,
    submitted_at=TIME,
    commit_id=maybe(SHA),
    author_association=ASSOCIATION,
    _links=record(html=LINK, pull_request=LINK),
)
LINE_COMMENT = record(
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    body=TEXT,
    diff_hunk=TEXT,
    path=TEXT,
    position=WHOLE,
    original_position=WHOLE,
    line=WHOLE,
    original_line=WHOLE,
    side=one_of("LEFT", "RIGHT"),
    commit_id=SHA,
    original_commit_id=SHA,
    user=maybe(USER),
    pull_request_review_id=WHOLE,
    html_url=URL,
    pull_request_url=URL,
    created_at=TIME,
    updated_at=TIME,
    author_association=ASSOCIATION,
    _links={"type": "object", "required": ["self", "html", "pull_request"]},
)
COMMENT = record(
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    html_url=URL,
    issue_url=URL,
    body=TEXT,
    user=maybe(USER),
    created_at=TIME,
    updated_at=TIME,
    author_association=ASSOCIATION,
)
EVENT = record(
    ("label", "rename"),
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    actor=maybe(USER),
    event=TEXT,
    commit_id=maybe(SHA),
    commit_url=maybe(URL),
    created_at=TIME,
    label=record(name=TEXT, color=TEXT),
    rename=record(**{"from": TEXT, "to": TEXT}),
)
REPOSITORY = record(
    id=WHOLE,
    node_id=TEXT,
    name=TEXT,
    full_name=TEXT,
    private=TRUTH,
    default_branch=TEXT,
    owner=USER,
)
BRANCH = record(label=TEXT, ref=TEXT, sha=SHA, user=maybe(USER), repo=maybe(REPOSITORY))
PULL = record(
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    html_url=URL,
    issue_url=URL,
    number=WHOLE,
    state=one_of("open", "closed"),
    locked=TRUTH,
    title=TEXT,
    user=maybe(USER),
    body=maybe(TEXT),
    created_at=TIME,
    updated_at=TIME,
    closed_at=maybe(TIME),
    merged_at=maybe(TIME),
    merge_commit_sha=maybe(SHA),
    draft=TRUTH,
    head=BRANCH,
    base=BRANCH,
)
STATUS = record(
    id=WHOLE,
    node_id=TEXT,
    url=URL,
    state=one_of("error", "failure", "pending", "success"),
    description=maybe(TEXT),
    target_url=maybe(URL),
    context=TEXT,
    created_at=TIME,
    updated_at=TIME,
    creator=maybe(USER),
)
PERMISSION = record(
    permission=one_of("admin", "write", "read", "none"), role_name=TEXT, user=maybe(USER)
)
MISTAKE = record(("errors",), message=TEXT, documentation_url=TEXT, errors={"type": "array"})
EDITED = record(
    data=record(
        repository=record(
            issue=record(
                lastEditedAt=maybe(TIME),
                editor=maybe(record(login=TEXT)),
                userContentEdits=maybe(
                    record(
                        nodes=listed(
                            record(
                                editedAt=TIME, editor=maybe(record(login=TEXT)), diff=maybe(TEXT)
                            )
                        )
                    )
                ),
            )
        )
    )
)
MOVED_DRAFT = record(
    ("errors",),
    data={
        "type": "object",
        "minProperties": 1,
        "additionalProperties": maybe(record(pullRequest=record(isDraft=TRUTH))),
    },
    errors={"type": "array", "minItems": 1, "items": record(message=TEXT)},
)
ISSUES, COMMENTS, EVENTS, PULLS, STATUSES, LABELS, REVIEWS, LINE_COMMENTS = map(
    listed, (ISSUE, COMMENT, EVENT, PULL, STATUS, LABEL, REVIEW, LINE_COMMENT)
)
