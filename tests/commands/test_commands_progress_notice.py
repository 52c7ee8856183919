"""Who waits for long hears why, once; who does not wait hears nothing."""

import time

from runner.terminal.screen import patience


def test_only_what_takes_long_is_told(capsys):
    with patience("counting", 5.0):
        pass
    assert capsys.readouterr() == ("", "")
    with patience("counting", 0.05):
        time.sleep(0.2)
    assert capsys.readouterr() == ("", "still counting …\n")
