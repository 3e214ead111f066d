"""Generates the clients in `clients` from `openapi.json`: `python -m local.generators.clients`."""

import json
import os
import subprocess
from pathlib import Path
from typing import Final

from local.generators import python_client, typescript_client
from local.paths import ROOT
from local.tools.node import find_or_install_node

_DOCUMENT: Final = ROOT / "openapi.json"
_TYPESCRIPT: Final = ROOT / "clients" / "typescript"
_PYTHON: Final = ROOT / "clients" / "python"


def generate_typescript(folder: Path) -> None:
    """Write the generated modules of the TypeScript client to a folder."""
    document = json.loads(_DOCUMENT.read_text(encoding="utf-8"))
    (folder / "resources.ts").write_text(typescript_client.resources_source(document), encoding="utf-8")
    (folder / "operations.ts").write_text(typescript_client.operations_source(document), encoding="utf-8")
    command = [find_or_install_node().program, "--import", "tsx", "tools/generate.ts", str(folder / "schema.ts")]
    subprocess.run(command, cwd=_TYPESCRIPT, env=os.environ, check=True)


def generate_python(folder: Path) -> None:
    """Write the generated modules of the Python client to a folder."""
    python_client.generate(json.loads(_DOCUMENT.read_text(encoding="utf-8")), folder)


if __name__ == "__main__":
    generate_typescript(_TYPESCRIPT / "src" / "generated")
    generate_python(_PYTHON / "src" / "atrium_client")
