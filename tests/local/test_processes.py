"""The child processes of a run: their start, their end, and their output."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.server.processes import ProcessEnded, start_process, stop_processes
from tests.harness.waiting import wait_until

SLEEPING = "import time; print('up', flush=True); time.sleep(60)"
IGNORING_SIGTERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPING}"
PARENT = """
import os, sys, time
from pathlib import Path
from local.server.processes import start_process
child = start_process("child", [sys.executable, "-c", {code!r}], Path({log!r}), os.environ)
print(child.process.pid, flush=True)
time.sleep(60)
"""


def start_python(code, folder):
    return start_process("child", [sys.executable, "-c", code], folder / "child.log", os.environ)


def has_started(folder):
    log = folder / "child.log"
    return log.exists() and "up" in log.read_text()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that has ended stays a zombie until its new parent waits for it.
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_an_ended_process_is_reported_with_its_last_output(tmp_path):
    child = start_python("print('last words'); raise SystemExit(3)", tmp_path)
    child.process.wait(60)
    with pytest.raises(ProcessEnded, match=r"(?s)The child ended unexpectedly \(exit code 3\).*last words"):
        child.check_running()


def test_a_running_process_passes_the_check_has_its_own_session_and_stops_on_sigterm(tmp_path):
    child = start_python(SLEEPING, tmp_path)
    wait_until(lambda: has_started(tmp_path))
    child.check_running()
    assert os.getsid(child.process.pid) == child.process.pid  # So Ctrl-C does not reach it.
    stop_processes([child], seconds=60)
    assert child.process.returncode == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_killed(tmp_path, capsys):
    child = start_python(IGNORING_SIGTERM, tmp_path)
    wait_until(lambda: has_started(tmp_path))
    stop_processes([child], seconds=0.1)
    assert child.process.returncode == -signal.SIGKILL
    assert "The child did not stop" in capsys.readouterr().err


def test_a_process_ends_when_its_parent_is_killed(tmp_path):
    program = PARENT.format(code=SLEEPING, log=str(tmp_path / "child.log"))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        wait_until(lambda: has_started(tmp_path))
        parent.kill()
    wait_until(lambda: not is_alive(pid))
