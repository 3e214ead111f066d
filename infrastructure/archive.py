"""Reproducible zip files: equal folders give equal bytes. Format: PKWARE APPNOTE.TXT. Compression: libdeflate.

The output of Python's zipfile depends on the version of zlib, and is 4 % larger.
"""

import struct
from pathlib import Path
from typing import Final
from zlib import crc32

from deflate import deflate_compress

_MAX_COMPRESSION_LEVEL: Final = 12
_ZIP_VERSION: Final = 20
_MADE_BY_UNIX: Final = 3 << 8 | _ZIP_VERSION
_UTF8_FLAG: Final = 1 << 11
_DEFLATE_METHOD: Final = 8
_DOS_TIME_AND_DATE: Final = (0, 1 << 5 | 1)
_FILE_MODE: Final = 0o100644 << 16


def write_zip(folder: Path, file: Path) -> None:
    """Write a zip of all files in a folder, sorted by name, with the date 1 January 1980 and mode 644."""
    entries, index = bytearray(), bytearray()
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        content, encoded = (folder / name).read_bytes(), name.encode()
        packed = deflate_compress(content, _MAX_COMPRESSION_LEVEL)
        sizes = (crc32(content), len(packed), len(content), len(encoded), 0)
        about = struct.pack("<4H3L2H", _UTF8_FLAG, _DEFLATE_METHOD, *_DOS_TIME_AND_DATE, *sizes)
        index += struct.pack("<4s2H", b"PK\x01\x02", _MADE_BY_UNIX, _ZIP_VERSION) + about
        index += struct.pack("<3H2L", 0, 0, 0, _FILE_MODE, len(entries)) + encoded
        entries += struct.pack("<4sH", b"PK\x03\x04", _ZIP_VERSION) + about + encoded + packed
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(names), len(names), len(index), len(entries), 0)
    draft = file.with_name(f"{file.name}.draft")
    draft.write_bytes(entries + index + end)
    draft.replace(file)
