"""Ctrl-C in a script: the answer so far is kept, and no process of the model is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.chat.history import History

# Ignored by whoever runs the tests in the background, a SIGINT would be ignored in the script too.
SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from skippy_chat import Skippy
from skippy_chat.events import TextDelta

with Skippy(sys.argv[1], session="S", workspace=".", threads=1, temperature=0, max_tokens=900, env={},
            data_dir="data", cache_dir="cache", config_dir="config") as chat:
    for event in chat.stream("Tell me a very long story about the sea."):
        if isinstance(event, TextDelta):
            print("writing", flush=True)
"""


@pytest.mark.native
@pytest.mark.model
def test_what_was_written_is_kept_when_a_script_is_interrupted(tmp_path: Path, default_model: Path) -> None:
    tmp_path.chmod(0o700)
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(default_model)],
        cwd=tmp_path,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert script.stdout is not None
    assert script.stdout.readline() == "writing\n"
    os.killpg(script.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, errors = script.communicate(timeout=60)
    assert script.returncode == -signal.SIGINT
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    with pytest.raises(ProcessLookupError):
        os.killpg(script.pid, 0)
    history = History.open(tmp_path / "data" / "history.db", now=lambda: 0)
    session = history.session("S")
    branch = history.branch(history.head(session.id))
    history.close()
    assert [(message.role, message.state) for message in branch] == [
        ("user", "complete"),
        ("assistant", "interrupted"),
    ]
    assert branch[1].content
