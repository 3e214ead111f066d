"""The commands of the tour, the README and the concepts, run in a shell against the running service."""

import re
import subprocess

import pytest

from local.paths import ROOT
from tests.emulator.local_stage import LocalStage, process_environment
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
END_MARKER = "<end of the answer>"
LINKED_PATHS = (".venv", "chalicelib", "infrastructure", "local")


def documented_commands(document):
    """Return the commands of a document in order, each with the output that the document shows."""
    commands: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall((ROOT / document).read_text()):
        assert block.startswith("$ "), "a console block must begin with a command"
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif commands[-1][0].endswith("\\"):
                commands[-1] = (f"{commands[-1][0]}\n{line}", [])
            else:
                commands[-1][1].append(line)
    return commands


def assert_commands_print_what_the_document_shows(document, min_commands, stage, folder):
    for name in LINKED_PATHS:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".local").symlink_to(stage.state)
    documented = documented_commands(document)
    assert len(documented) >= min_commands
    script = "".join(f"{command}\necho; echo '{END_MARKER}'\n" for command, _ in documented)
    result = subprocess.run(
        ["bash", "-u"],
        input=script.replace("http://127.0.0.1:8000", stage.url),
        cwd=folder,
        env=process_environment(stage.state),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert result.stderr == ""
    outputs = result.stdout.split(f"{END_MARKER}\n")[:-1]
    for (command, lines), output in zip(documented, outputs, strict=True):
        expected = re.escape("\n".join(lines)).replace("…", ".*")  # `…` stands for any text.
        assert re.fullmatch(expected, output.strip(), re.DOTALL), f"$ {command}\n{output}"


@pytest.mark.parametrize(
    ("document", "min_commands"),
    [
        ("README.md", 2),
        ("docs/guides/sites.md", 14),
        pytest.param("docs/guides/tour.md", 60, marks=pytest.mark.exhaustive),
    ],
)
def test_every_command_prints_what_the_document_shows(document, min_commands, stage, tmp_path):
    assert_commands_print_what_the_document_shows(document, min_commands, stage, tmp_path)


@pytest.mark.exhaustive
def test_every_command_of_the_concepts_prints_what_the_page_shows_of_the_sample_company(tmp_path):
    stage = LocalStage(tmp_path / "state").start("--seed")
    try:
        wait_until(lambda: "is ready.\n" in stage.output.partition("Ctrl-C stops everything")[2], 180)
        assert_commands_print_what_the_document_shows("docs/concepts.md", 25, stage, tmp_path)
    finally:
        stage.interrupt()
