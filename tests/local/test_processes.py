import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.server.processes import Child, Fallen, start, stop
from tests.harness.waiting import wait_until

PATIENT = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {PATIENT}"
PARENT = """
import os, sys, time
from pathlib import Path
from local.server.processes import start
child = start("child", [sys.executable, "-c", {code!r}], Path({log!r}), os.environ)
print(child.process.pid, flush=True)
time.sleep(60)
"""


def python(code: str, folder: Path) -> Child:
    return start("child", [sys.executable, "-c", code], folder / "child.log", os.environ)


def is_up(folder: Path) -> bool:
    log = folder / "child.log"
    return log.exists() and "up" in log.read_text()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Whoever has adopted it may not have taken notice of its end yet.
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_one_that_falls_is_named_with_its_last_words(tmp_path: Path) -> None:
    child = python("print('last words'); raise SystemExit(3)", tmp_path)
    child.process.wait(10)
    with pytest.raises(Fallen, match=r"(?s)The child ended unexpectedly \(exit code 3\).*last words"):
        child.check()


def test_one_that_lives_is_fine_and_ends_when_asked(tmp_path: Path) -> None:
    child = python(PATIENT, tmp_path)
    wait_until(lambda: is_up(tmp_path))
    child.check()
    stop([child], seconds=10)
    assert child.process.returncode == -signal.SIGTERM


def test_one_that_won_t_end_is_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    child = python(STUBBORN, tmp_path)
    wait_until(lambda: is_up(tmp_path))
    stop([child], seconds=0.1)
    assert child.process.returncode == -signal.SIGKILL
    assert "The child did not stop" in capsys.readouterr().err


def test_ctrl_c_at_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    child = python(PATIENT, tmp_path)
    assert os.getsid(child.process.pid) == child.process.pid
    stop([child], seconds=10)


def test_none_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = PARENT.format(code=PATIENT, log=str(tmp_path / "child.log"))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        wait_until(lambda: is_up(tmp_path))
        parent.kill()
    wait_until(lambda: not lives(pid))
