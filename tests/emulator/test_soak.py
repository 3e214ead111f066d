"""The soak, for seconds instead of half an hour: it loads, it kills, it looks, and it ends by itself."""

import subprocess
import sys
from typing import Final

import pytest

from benchmarks.soak.document import PROMISES
from local.paths import ROOT

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_SOAK: Final = ("-m", "benchmarks.soak", "--minutes=0.2", "--tenants=2", "--kills", "3", "5", "--no-keep", "--seed=1")


def test_a_short_soak_finds_every_promise_kept() -> None:
    done = subprocess.run([sys.executable, *_SOAK], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for promise in PROMISES.values():
        assert f"| {promise} | yes |" in done.stdout
