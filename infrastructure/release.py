"""Make a release from the current commit: `make release`.

A release is a tag and three files in `build/release/`: the source code, the deployment package for the running version
of Python, and their SHA-256. Both archives are reproducible: the same commit gives the same bytes. For the package,
the release of Python has to be the same, too.
"""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from chalicelib.kernel.core.version import VERSION
from infrastructure import archive, package
from infrastructure.account import CommandError
from infrastructure.configuration import PROJECT

FOLDER: Final = PROJECT / "build" / "release"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_HEADING: Final = r"^## \[{}\] - \d{{4}}-\d{{2}}-\d{{2}}\n(.*?)(?=^## \[|\Z)"


def release() -> str:
    """Build the files, tag the commit and return a description. Raises CommandError if a requirement is not met.

    Nothing is tagged unless all files were built. Nothing is sent anywhere.
    """
    tag, notes = f"v{VERSION}", release_notes(VERSION, (PROJECT / "CHANGELOG.md").read_text())
    _require_clean_tree()
    _require_new_tag(tag)
    files = [_build_source_archive(), _build_package()]
    sums = FOLDER / "SHA256SUMS"
    sums.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files))
    _git("tag", "--annotate", tag, "--cleanup=verbatim", "--message", f"Atrium {VERSION}\n\n{notes}")
    return _describe(tag, [*files, sums])


def release_notes(version: str, changelog: str) -> str:
    """Return the section of a version in the changelog. Raises CommandError if it is missing, empty or without a date.

    The version has three numbers, as Semantic Versioning defines for a release.
    """
    if not _VERSION.fullmatch(version):
        raise CommandError(f"VERSION in chalicelib/kernel/core/version.py is {version!r}. It must be like 1.2.3.")
    section = re.search(_HEADING.format(re.escape(version)), changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise CommandError(
            f"CHANGELOG.md has no changes below a heading `## [{version}] - YYYY-MM-DD`. Move what is below"
            " `## [Unreleased]` there, and commit."
        )
    return section[1].strip() + "\n"


def _require_clean_tree() -> None:
    if changes := _git("status", "--porcelain").decode():
        raise CommandError(f"The working tree differs from the last commit. Commit or remove:\n{changes.rstrip()}")


def _require_new_tag(tag: str) -> None:
    if _git("tag", "--list", tag):
        raise CommandError(
            f"The tag {tag} exists. Raise VERSION in chalicelib/kernel/core/version.py, and begin a section in"
            " CHANGELOG.md."
        )


def _build_source_archive() -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"atrium-{VERSION}.zip"
    with TemporaryDirectory(prefix="atrium-release-") as temporary:
        _git("checkout-index", "--all", f"--prefix={temporary}/atrium-{VERSION}/")
        archive.write_zip(Path(temporary), file)
    return file


def _build_package() -> Path:
    version = package.running_python_version()
    built = package.build_package(version)
    return Path(shutil.copy(built, FOLDER / f"atrium-{VERSION}-lambda-python{version}.zip"))


def _describe(tag: str, files: Iterable[Path]) -> str:
    lines = [f"  {file.relative_to(PROJECT)}  {file.stat().st_size:,} bytes" for file in files]
    return "\n".join([f"The commit is tagged {tag}. To publish it: git push origin {tag}", *lines])


def _git(*arguments: str) -> bytes:
    program = shutil.which("git")
    if program is None:
        raise CommandError("git is not installed, but must read the commit and tag it. Install it.")
    done = subprocess.run([program, *arguments], cwd=PROJECT, capture_output=True, check=False)  # noqa: S603 (fixed arguments)
    if done.returncode != 0:
        raise CommandError(f"git {arguments[0]} failed.\n{done.stderr.decode().rstrip()}")
    return done.stdout
