"""`python -m bench statestore` with words that cannot be obeyed."""

from __future__ import annotations

import pytest

from bench.__main__ import main


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["launch-tests", "0", "100"], 2, "wanted a whole number of at least 1"),
        (["launch-tests", "5", "-1"], 2, "SIZE"),
        (["launch-tests", "5", "100"], 1, "no server runs in"),
        (["workflow-metrics", "x"], 2, "wanted a whole number of at least 1"),
        (["workflow-metrics", "3"], 1, "no server runs in"),
        (["streams-metrics"], 1, "no server runs in"),
        (["server"], 1, "setup"),
        (["server", "--stores", "three"], 2, "invalid choice"),
        (["server", "--task-timeout", "0"], 2, "--task-timeout wants seconds above 0"),
        (["ledger"], 1, "no audit"),
        (["tidy"], 2, "invalid choice"),
    ],
)
def test_a_bad_word_is_one_clear_line(tmp_path, capsys, words, code, said):
    """A user would get a traceback, or a run with other settings than asked for."""
    try:
        done = main(["statestore", "--home", str(tmp_path / "home"), *words])
    except SystemExit as ended:  # argparse
        done = ended.code
    assert done == code
    assert said in capsys.readouterr().err


def test_no_load_goes_to_another_machine(tmp_path, capsys, monkeypatch):
    """A mistyped address would be loaded."""
    monkeypatch.setenv("JETLAG_NATS_URL", "nats://192.0.2.1:4222")
    assert main(["statestore", "--home", str(tmp_path / "home"), "setup"]) == 1
    assert "--allow-remote-target" in capsys.readouterr().err
