"""What agents used, in words and as data."""

from runner.model import Usage
from runner.report.cost import cost, cost_data, cost_part, per_proven, together


def test_only_what_was_used_is_said():
    assert cost(Usage()) == ""
    assert cost(Usage(1, 0)) == "1 token"
    assert cost(Usage(12_000, 345, 0.4242, 1)) == "12,345 tokens, $0.42, 1 tool call"
    assert cost(Usage(dollars=0.0012)) == "$0.0012"


def test_a_program_gets_nothing_for_nothing():
    assert cost_data(Usage()) is None
    assert cost_part(Usage()) == {}
    assert cost_data(Usage(2, 3, 0.5, 4)) == {
        "inputTokens": 2,
        "outputTokens": 3,
        "tokens": 5,
        "dollars": 0.5,
        "toolCalls": 4,
    }


def test_what_several_used_adds_up():
    assert together([Usage(1, 2, 0.5, 3), Usage(10, 20, 1.0, 30)]) == Usage(11, 22, 1.5, 33)
    assert together([]) == Usage()


def test_what_failed_is_paid_by_what_is_proven():
    tasks = [(Usage(dollars=0.30), True), (Usage(dollars=0.50), False), (Usage(), True)]
    assert per_proven(tasks) == "$0.80 a proven task"
    assert per_proven(tasks[1:]) == per_proven([]) == ""
