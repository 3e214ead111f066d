"""The console's own tests, which run in Node: its parts without interface, and the sizes of its bundle."""

import subprocess
from typing import Final

from local.paths import ROOT
from local.tools.node import find_node

_FOLDER: Final = ROOT / "console"


def test_the_tests_in_node_pass():
    files = sorted(f"test/{file.name}" for file in (_FOLDER / "test").glob("*.test.ts"))
    node = find_node().program
    for command in (
        [node, "--import", "tsx", "tools/generate.ts"],
        [node, "--import", "tsx", "--test", *files],
    ):
        result = subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, check=False, timeout=120)
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr
    assert "# fail 0" in result.stdout
    assert "# pass 0" not in result.stdout
