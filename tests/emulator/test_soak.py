"""The soak test, for seconds instead of half an hour."""

import subprocess
import sys
from typing import Final

import pytest

from benchmarks.soak.document import PROMISES
from local.paths import ROOT

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_SOAK_ARGUMENTS: Final = (
    "-m",
    "benchmarks.soak",
    "--minutes=0.2",
    "--tenants=2",
    "--kills",
    "3",
    "5",
    "--no-keep",
    "--seed=1",
)


def test_short_soak_passes_all_checks():
    result = subprocess.run(
        [sys.executable, *_SOAK_ARGUMENTS], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    for promise in PROMISES.values():
        assert f"| {promise} | yes |" in result.stdout
