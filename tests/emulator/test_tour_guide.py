"""The commands of the tour and of the README, typed line by line into a shell beside the running service."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.emulator.stage import Stage, environment

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
END = "<end of the answer>"
NEEDED = (".venv", "chalicelib", "infrastructure", "local")


@dataclass
class Typed:
    """A command as the document shows it, and what it shows as its answer; `…` stands for anything."""

    command: str
    shown: list[str] = field(default_factory=list)

    def matches(self, said: str) -> bool:
        """Return whether what was said is what is shown."""
        expected = re.escape("\n".join(self.shown)).replace("…", ".*")
        return re.fullmatch(expected, said.strip(), re.DOTALL) is not None


def steps_of(document: str) -> Iterator[Typed]:
    """Yield what a document tells to type, in order."""
    for block in BLOCK.findall((ROOT / document).read_text()):
        typed: Typed | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if typed:
                    yield typed
                typed = Typed(line[2:])
            elif typed and typed.command.endswith("\\"):
                typed.command += f"\n{line}"
            elif typed:
                typed.shown.append(line)
        assert typed, "a block begins with a command"
        yield typed


@pytest.fixture
def folder(tmp_path: Path, stage: Stage) -> Path:
    """A folder that looks like the project's to whoever types in it."""
    for name in NEEDED:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".local").symlink_to(stage.state)
    return tmp_path


def typed_in(commands: list[str], folder: Path, stage: Stage) -> list[str]:
    """Return what a shell says to each command."""
    script = "".join(f"{command}\necho; echo '{END}'\n" for command in commands)
    done = subprocess.run(
        ["bash", "-u"],
        input=script,
        cwd=folder,
        env=environment(stage.state),
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split(f"{END}\n")[:-1]


@pytest.mark.parametrize(("document", "least"), [("README.md", 2), ("docs/guides/tour.md", 60)])
def test_every_command_answers_as_the_document_shows(document: str, least: int, stage: Stage, folder: Path) -> None:
    steps = list(steps_of(document))
    assert len(steps) >= least
    commands = [step.command.replace("http://127.0.0.1:8000", stage.url) for step in steps]
    for step, said in zip(steps, typed_in(commands, folder, stage), strict=True):
        assert step.matches(said), f"$ {step.command}\n{said}"
