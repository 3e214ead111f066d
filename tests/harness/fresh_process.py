"""Runs programs in new processes."""

import json
import subprocess
import sys
from typing import Any

from local.paths import ROOT


def run_in_fresh_process(program: str) -> Any:
    """Run a program in a new interpreter and return the JSON of its last line of output."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
