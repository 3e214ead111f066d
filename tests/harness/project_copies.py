"""Copies parts of the project, and runs programs in the copy."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from local.paths import ROOT


def copy_project(names: Iterable[str], folder: Path, *excluded: str) -> Path:
    """Copy files and folders of the project into a folder, except names that match a pattern, and return it."""
    ignore = shutil.ignore_patterns("__pycache__", *excluded)
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def run_in_copy(command: Sequence[str], folder: Path, **environment: str) -> str:
    """Run a program in a copy, check that it succeeds, and return its output."""
    # Lines that run in the copy must not count towards the project's coverage.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    result = subprocess.run(
        command, cwd=folder, env=inherited | environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
