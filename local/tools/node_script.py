"""Runs a script of a folder's Node package: `python -m local.tools.node_script FOLDER SCRIPT`."""

import os
import subprocess
import sys
from pathlib import Path

from local.tools.node import find_or_install_node


def run_script(folder: str, script: str) -> int:
    """Run a script of the package in a folder, and return its exit code. Its programs find the same Node."""
    node = find_or_install_node()
    path = f"{Path(node.program).parent}{os.pathsep}{os.environ['PATH']}"
    command = [*node.npm, "run", "--silent", script]
    return subprocess.run(command, check=False, cwd=folder, env={**os.environ, "PATH": path}).returncode


if __name__ == "__main__":
    sys.exit(run_script(sys.argv[1], sys.argv[2]))
