"""Downloads the pinned library that searches the documentation: `python -m local.generators.docs_assets`.

To use another version, change VERSION and INTEGRITY (`npm view minisearch@VERSION dist.integrity`), run this
module, and copy the digests that its error prints to DIGESTS.
"""

import hashlib
import re
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from local.tools.node import DigestMismatch, download_package

VERSION: Final = "7.2.0"
INTEGRITY: Final = "sha512-dqT2XBYUOZOiC5t2HRnwADjhNS2cecp9u+TJRiJ1Qp/f5qjkeT5APcGPjHw+bz89Ms8Jp+cG4AlE+QZ/QnDglg=="
DIGESTS: Final[Mapping[str, str]] = {
    "LICENSE": "70d37354d6395629fb99edb28cb37a5d356ffa24a48cd02a5def5b83a300a899",
    "minisearch.js": "be655f42574cbfc32f7143d8f9ed20d287a98f70d76fe16e7d422918174b5c04",
}
"""The files that are used, with the SHA-256 of their contents in the repository."""

FOLDER: Final = Path(__file__).parents[2] / "chalicelib/entrypoints/docs/vendor"
_PACKED_NAMES: Final[Mapping[str, str]] = {"LICENSE": "LICENSE.txt", "minisearch.js": "dist/es/index.js"}
"""The names of the files in the package."""

_SOURCE_MAP: Final = re.compile(rb"//# sourceMappingURL=.*\s*$")


def main() -> None:
    """Replace the files in the repository."""
    for name, content in unpack(download_package("minisearch", VERSION, INTEGRITY)).items():
        (FOLDER / name).write_bytes(content)


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the used files of an npm archive. Raises DigestMismatch if a digest differs from the pinned one."""
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        contents = {name: _read_member(files, name) for name in DIGESTS}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    if digests != DIGESTS:
        raise DigestMismatch(f"The files are {digests}")
    return contents


def _read_member(files: tarfile.TarFile, name: str) -> bytes:
    member = files.extractfile(f"package/{_PACKED_NAMES[name]}")
    if member is None:
        raise DigestMismatch(f"{name} is not a file")
    # Source maps are not served. Without the comment, no browser requests them.
    return _SOURCE_MAP.sub(b"", member.read())


if __name__ == "__main__":
    main()
