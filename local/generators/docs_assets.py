"""Downloads the pinned library of the documentation page: `python -m local.generators.docs_assets`.

To use another version, change VERSION and INTEGRITY (`npm view swagger-ui-dist@VERSION dist.integrity`), run this
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

VERSION: Final = "5.35.0"
INTEGRITY: Final = "sha512-U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ=="
DIGESTS: Final[Mapping[str, str]] = {
    "LICENSE": "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
    "NOTICE": "0d20d1adef18aee3f40dd258172155521ce702ac445cb5f7b7d60ed32dad2fb2",
    "swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "swagger-ui-bundle.js.LICENSE.txt": "37eb6e7e59aed57b2c1acf076574b818ea07b74265717e0bd67b59e0baf9abbb",
    "swagger-ui.css": "0de37fab0ec3d9ca21390a3e6ff4fb319c730cb08ab2b7e98258bdf39dadfd8a",
}
"""The files that are used, with the SHA-256 of their contents in the repository."""

FOLDER: Final = Path(__file__).parents[2] / "chalicelib/entrypoints/docs/vendor"
_SOURCE_MAP: Final = re.compile(rb"/\*# sourceMappingURL=.*\*/\s*$")


def main() -> None:
    """Replace the files in the repository."""
    for name, content in unpack(download_package("swagger-ui-dist", VERSION, INTEGRITY)).items():
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
    member = files.extractfile(f"package/{name}")
    if member is None:
        raise DigestMismatch(f"{name} is not a file")
    # Source maps are not served. Without the comment, no browser requests them.
    return _SOURCE_MAP.sub(b"\n", member.read())


if __name__ == "__main__":
    main()
