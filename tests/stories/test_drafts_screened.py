"""Work that an implementer gave up is kept as a draft, without what may be kept nowhere."""

REST = "p_1b6tQ0zX9pLk" + "3mVn8cRw5yDf" + "Gh2jAeS7uKiT"
PLAN = f"""\
## TASK-001: half done

- Output files: `a.*`
- Command: sh -c 'echo half > a.txt; printf "gh%s" {REST} > a.env; echo x > other.txt; exit 1'
- Budget: 1 attempt
- Test contracts:
  - TC-001 (unit): `true`
"""


def test_the_draft_of_a_command_that_failed_holds_no_secret_and_nothing_out_of_scope(workplace):
    workplace.plan(PLAN)
    said = workplace.run("--sandbox", "none")
    assert said.code == 1, said.said
    (branch,) = [one for one in workplace.branches if one.startswith("draft/")]
    assert workplace.git("show", f"{branch}:a.txt") == "half"
    kept = workplace.git("ls-tree", "--name-only", branch).splitlines()
    assert "a.env" not in kept
    assert "other.txt" not in kept
    assert f"gh{REST}".encode() not in workplace.objects()
