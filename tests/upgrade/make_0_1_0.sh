#!/bin/sh
# Made state-0.1.0.tar.gz once, with the runner of commit 409cb87, the first whole 0.1.0: `make_0_1_0.sh RUNNER`.
# A repository in the middle of a plan, and the home of whoever builds it: three tasks DONE, one of them with a
# decision and one without a commit, one that failed, one that waits for a review, two that wait for those.
set -eu
runner=$1 ground=/tmp/upgrade
rm -rf "$ground" && mkdir -p "$ground/home/.config/runner" "$ground/shop" && cd "$ground/shop"
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME
export HOME=$ground/home GIT_CONFIG_NOSYSTEM=1 PYTHONDONTWRITEBYTECODE=1
printf '[user]\n\tname = Ada\n\temail = ada@example.org\n' > "$HOME/.gitconfig"
printf 'jobs = 1\nidle_seconds = 120\n' > "$HOME/.config/runner/runner.toml"
git init -q -b main
cat > runner.toml <<'END'
attempts = 2
minutes = 10
coverage = 50
review = "prompt"
checkpoint_every = 3
red_first = "never"

[compile]
"*.txt" = "true"

[gates]
words = "test ! -e wrong-words"
END
cat > TASK-GRAPH.md <<'END'
# Shop

## TASK-001: Prices

- Status: PENDING
- Output files: `prices.txt`
- Test contracts:
  - TC-001 (unit): `grep -q 3 prices.txt`

```text file=prices.txt
apple 3
```

## TASK-002: A total, and a decision

- Status: PENDING
- Depends on: TASK-001
- Output files: `total.txt`
- Command: `echo 3 > total.txt; printf 'DECISION: Whole numbers\nContext: no cents\n'`
- Test contracts:
  - TC-002 (unit): `test -s total.txt`

## TASK-003: A check

- Status: PENDING
- Depends on: TASK-001
- Test contracts:
  - TC-003 (unit): `grep -q apple prices.txt`

## TASK-004: What fails

- Status: PENDING
- Output files: `wrong.txt`
- Test contracts:
  - TC-004 (unit): `grep -q right wrong.txt`

```text file=wrong.txt
wrong
```

## TASK-005: What waits for it

- Status: PENDING
- Depends on: TASK-004
- Output files: `later.txt`
- Test contracts:
  - TC-005 (unit): `test -s later.txt`

```text file=later.txt
later
```

## TASK-006: What a person reviews

- Status: PENDING
- Depends on: TASK-001
- Output files: `reviewed.txt`
- Test contracts:
  - TC-006 (unit): `test -s reviewed.txt`

```text file=reviewed.txt
mine to read
```

## TASK-007: Later still

- Status: PENDING
- Depends on: TASK-002, TASK-006
- Output files: `last.txt`
- Test contracts:
  - TC-007 (unit): `test -s last.txt`

```text file=last.txt
last
```
END
git add -A && git commit -qm plan
built() { "$runner" run --trust --no-sandbox -j 1 || test $? -le 3; }
built
"$runner" approve TASK-001
built
"$runner" approve TASK-002
built
"$runner" status
"$runner" validate
rm -rf .git/hooks "$HOME"/.cache/runner/repositories/*/slots
cd "$ground" && tar --sort=name --owner=0 --group=0 -czf state-0.1.0.tar.gz shop home
