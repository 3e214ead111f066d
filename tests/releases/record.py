"""Records the code of a release for the tests of the next one: `python -m tests.releases.record [COMMIT]`.

The archive contains the service and what the tests need to run it in memory, without files that only people see.
"""

import io
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from local.paths import ROOT

FILE: Final = Path(__file__).parent / "last_release.tar.xz"
_RECORDED: Final = ("app.py", "openapi.json", "chalicelib", "infrastructure", "local", "tests")
_RUN_BY_TESTS: Final = ("tests/conftest.py", "tests/harness/", "tests/stored_forms/")
_OMITTED: Final = ("chalicelib/entrypoints/docs/vendor/", "local/seed/")
_OMITTED_SUFFIXES: Final = (
    ".bin",
    ".gz",
)  # The reference data, and recordings: the tests use those of the new release.


def record(commit: str) -> int:
    """Write the archive of a commit, and return its size in bytes. Equal commits give equal archives."""
    command = ["git", "archive", "--format=tar", commit, *_RECORDED]
    complete = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    selected = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(complete)) as source, tarfile.open(fileobj=selected, mode="w") as target:
        for member in source:
            if member.isfile() and _is_recorded(member.name):
                target.addfile(member, source.extractfile(member))
    FILE.write_bytes(lzma.compress(selected.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return FILE.stat().st_size


def extract(folder: Path) -> Path:
    """Extract the recorded release into a folder, and return it."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _is_recorded(name: str) -> bool:
    if name.startswith(_OMITTED) or name.endswith(_OMITTED_SUFFIXES):
        return False
    if name.startswith("infrastructure/"):
        return name.endswith(".py")
    return not name.startswith("tests/") or name.startswith(_RUN_BY_TESTS)


def main() -> None:
    size = record(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    sys.stdout.write(f"{FILE.name}: {size} bytes\n")


if __name__ == "__main__":
    main()
