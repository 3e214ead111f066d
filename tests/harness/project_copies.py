"""A copy of parts of the project, and programs that run in it."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from local.paths import ROOT


def copied(names: Iterable[str], folder: Path, *left_out: str) -> Path:
    """Return the folder, with these files and folders of the project in it; `left_out`: patterns of names."""
    ignore = shutil.ignore_patterns("__pycache__", *left_out)
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def run(command: Sequence[str], folder: Path, **told: str) -> str:
    """Return what a program printed in a copy; it has to succeed."""
    # The copy's coverage is not the project's.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(command, cwd=folder, env=kept | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
