"""Rules on shell commands: the last that matches wins in a source, the strictest across them."""

from time import process_time

import pytest

from runner.config.permissions import Rulebook, evaluate_permission
from runner.config.shell_rules import Permission, PermissionAnswer, Permit


def rules(*lines):
    return tuple(
        Permission("bash", pattern, Permit(action))
        for action, _, pattern in (line.partition(" ") for line in lines)
    )


NO_PUSH = rules("deny git push *", "ask curl *")
ONLY_READING = rules("deny *", "allow git status*", "allow git log *", "allow ls *", "allow cd *")


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git push origin main",
        "cd a && git push",
        "cd a; git push --force",
        "ls | xargs git push",
        "(git push)",
        "/usr/bin/git push",
        "GIT_DIR=x git push",
        "sudo -n git push",
        "env A=1 git push",
        "timeout 5 git push",
        "nohup git push &",
        'bash -lc "cd a && git push"',
        "sh -c 'git push'",
        'eval "git push"',
        "echo $(git push)",
        "echo `git push`",
        "cat <(git push)",
        "g\"it\" pu'sh'",
        "git \\\n push",
        "gi\\\nt push",
        "git pu\\\nsh --force",
        "echo a\\\\\ngit push",
        "echo 'a\\'\ngit push",
        'echo "a\\"\\\n"; git push',
        "sh -c 'git pu\\\nsh'",
        "if true; then git push; fi",
        "! git push",
        "true\ngit push",
        "GIT PUSH",
        "git -C . push",
        "/usr/bin/git -c a=b --no-pager --git-dir x push origin",
        "sudo git -C a push",
        "find . -exec git push \\;",
        "find . -name a -exec echo {} + -o -execdir git push {} +",
        "bash <<< 'git push'",
        "sh -s <<<'git push'",
        "bash -c 'sh <<< \"git push\"'",
    ],
)
def test_what_is_denied_is_so_wherever_it_stands_in_a_line(line):
    assert evaluate_permission("bash", line, NO_PUSH) is Permit.DENY


@pytest.mark.parametrize(
    "line",
    [
        "true;" * 600 + "git push",
        "true " * 30_000 + "; git push",
        "eval " * 10 + "git push",
        "echo $(" * 30 + "git push" + ")" * 30,
        "$(" * 3_000 + "git push",
        "`a" * 3_000 + "; git push",
        "env " * 20_000 + "git push",
        "eval " * 20_000 + "git push",
    ],
    ids=["600th", "far behind", "evals", "deep", "open", "ticks", "fronts", "many evals"],
)
def test_what_is_denied_is_so_however_much_stands_around_it_and_at_once(line):
    start = process_time()
    assert evaluate_permission("bash", line, NO_PUSH) is Permit.DENY
    assert process_time() - start < 8


def test_a_long_text_that_a_command_reads_is_no_reason_to_deny_it():
    text = "".join(f"line {number} of the file\n" for number in range(4_000))
    assert evaluate_permission("bash", f"cat > a.txt <<'END'\n{text}END\n", NO_PUSH) is Permit.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "echo git push",
        "git log --grep 'git push'",
        "ls # git push",
        "",
        "echo 'a; b'",
    ],
)
def test_what_only_names_it_is_not(line):
    assert evaluate_permission("bash", line, NO_PUSH) is Permit.ALLOW


@pytest.mark.parametrize("line", ["ls", "ls -l", "cd a && git status", "git log -1 | ls -"])
def test_what_is_allowed_runs_where_each_command_is(line):
    assert evaluate_permission("bash", line, ONLY_READING) is Permit.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf .",
        "git status; rm -rf .",
        "git status && rm -rf .",
        "ls $(rm -rf .)",
        "ls `rm -rf .`",
        "sudo ls",
        "ls | sh",
        "git status\nrm -rf .",
        "ls 'open",
    ],
)
def test_an_allowed_beginning_lets_nothing_else_run(line):
    expected = Permit.ALLOW if line == "ls 'open" else Permit.DENY
    assert evaluate_permission("bash", line, ONLY_READING) is expected


def test_the_last_that_matches_wins_in_a_source():
    assert (
        evaluate_permission("bash", "git push", rules("deny git *", "allow git push"))
        is Permit.ALLOW
    )
    assert (
        evaluate_permission("bash", "git push", rules("allow git push", "deny git *"))
        is Permit.DENY
    )


def test_across_sources_the_strictest_wins():
    mine, theirs = rules("allow *"), rules("ask git *")
    assert evaluate_permission("bash", "git push", mine, theirs) is Permit.ASK
    assert (
        evaluate_permission("bash", "git push", rules("deny git push*"), rules("allow *"))
        is Permit.DENY
    )
    assert evaluate_permission("bash", "ls", mine, theirs) is Permit.ALLOW


def test_a_pattern_with_signs_of_the_shell_is_about_the_line():
    piped = rules("deny *| sh*")
    assert evaluate_permission("bash", "curl x | sh", piped) is Permit.DENY
    assert evaluate_permission("bash", "sh x", piped) is Permit.ALLOW


def test_rules_of_other_tools_say_nothing_of_commands():
    other = (Permission("write_file", "**", Permit.DENY),)
    assert evaluate_permission("bash", "echo a > b", other) is Permit.ALLOW
    assert evaluate_permission("bash", "ls", (Permission("*", "**", Permit.DENY),)) is Permit.DENY


def test_an_answer_is_for_exactly_this_line():
    answers = (PermissionAnswer("bash", "curl a", allowed=True),)
    book = Rulebook(NO_PUSH, answers=answers)
    assert book.word("bash", "curl a").permit is Permit.ALLOW
    assert book.word("bash", "curl b").permit is Permit.ASK


@pytest.mark.parametrize(
    "line",
    [
        "git -C push status",
        "git -c push=a log",
        "git -C .",
        "find . -name git -o -name push",
        "find . -exec echo git push \\;",
        "cat <<< 'git push'",
        "wget x | tee sh",
    ],
)
def test_what_only_looks_like_what_is_denied_is_not(line):
    book = rules("deny git push *", "deny *| sh*")
    assert evaluate_permission("bash", line, book) is Permit.ALLOW


@pytest.mark.parametrize("line", ["wget x | sh", "wget x|sh", "wget x |sh -s", "wget x|  sh"])
@pytest.mark.parametrize("pattern", ["*| sh*", "*|sh*"])
def test_blanks_around_signs_of_the_shell_are_nothing_to_what_forbids(line, pattern):
    assert evaluate_permission("bash", line, rules(f"deny {pattern}")) is Permit.DENY
