"""The commands of the tour and of the README, run in a shell against the running service."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.emulator.local_stage import LocalStage, process_environment

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
END_MARKER = "<end of the answer>"
LINKED_PATHS = (".venv", "chalicelib", "infrastructure", "local")


@dataclass
class DocumentedCommand:
    """A command and its output as a document shows them. `…` stands for any text."""

    command: str
    expected_output: list[str] = field(default_factory=list)

    def matches(self, output: str) -> bool:
        """Return whether the output is the expected one."""
        expected = re.escape("\n".join(self.expected_output)).replace("…", ".*")
        return re.fullmatch(expected, output.strip(), re.DOTALL) is not None


def documented_commands(document: str) -> Iterator[DocumentedCommand]:
    """Yield the commands of a document in order."""
    for block in BLOCK.findall((ROOT / document).read_text()):
        command: DocumentedCommand | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command
                command = DocumentedCommand(line[2:])
            elif command and command.command.endswith("\\"):
                command.command += f"\n{line}"
            elif command:
                command.expected_output.append(line)
        assert command, "a console block must begin with a command"
        yield command


@pytest.fixture
def project_folder(tmp_path: Path, stage: LocalStage) -> Path:
    """A folder with links to the parts of the project that the commands need."""
    for name in LINKED_PATHS:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".local").symlink_to(stage.state)
    return tmp_path


def run_commands(commands: list[str], project_folder: Path, stage: LocalStage) -> list[str]:
    """Run commands in a shell and return the output of each."""
    script = "".join(f"{command}\necho; echo '{END_MARKER}'\n" for command in commands)
    result = subprocess.run(
        ["bash", "-u"],
        input=script,
        cwd=project_folder,
        env=process_environment(stage.state),
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert result.stderr == ""
    return result.stdout.split(f"{END_MARKER}\n")[:-1]


@pytest.mark.parametrize(("document", "min_commands"), [("README.md", 2), ("docs/guides/tour.md", 60)])
def test_every_command_prints_what_the_document_shows(document, min_commands, stage, project_folder):
    documented = list(documented_commands(document))
    assert len(documented) >= min_commands
    commands = [
        documented_command.command.replace("http://127.0.0.1:8000", stage.url) for documented_command in documented
    ]
    for documented_command, output in zip(documented, run_commands(commands, project_folder, stage), strict=True):
        assert documented_command.matches(output), f"$ {documented_command.command}\n{output}"
