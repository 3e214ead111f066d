"""The measured stacks, each in a folder as Lambda has it in /var/task.

Atrium's folder contains its compiled package, as `infrastructure package` builds it. Those of the peers contain their
libraries and code as Chalice and SAM package them: only sources, and Lambda cannot store the compiled files. A second
variant of each peer is compiled.
"""

import compileall
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from infrastructure.package import build_package
from local.paths import ROOT

_VIRTUAL_ENVIRONMENT: Final = ROOT / ".venv-peers"
_EXCLUDED: Final = ("boto3*", "botocore*", "s3transfer*", "pip*", "setuptools*", "wheel*", "__pycache__", "*.pyc")
_PEER_MODULES: Final = ("models.py", "tokens.py", "records.py", "chalice_baseline.py", "fastapi_baseline.py")
_PROGRAM: Final = Path(__file__).with_name("function.py")
_TIMEOUT_SECONDS: Final = 120


class StackFailed(Exception):
    """The process of a stack exited without a result."""


@dataclass(frozen=True)
class Stack:
    """A stack: its name, its folder, its handler and its table."""

    name: str
    folder: Path
    module: str
    handler_name: str
    table_name: str

    def run_plan(self, environment: Mapping[str, str], plan: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a plan in a new process, and return its results. Raises StackFailed."""
        process = subprocess.run(  # noqa: S603 - our own program
            [str(_VIRTUAL_ENVIRONMENT / "bin" / "python"), "-B", str(_PROGRAM), self.module, self.handler_name],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "TABLE": self.table_name, **environment},
            input=json.dumps(plan),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        if process.returncode:
            raise StackFailed(f"{self.name} failed:\n{process.stderr[-4000:]}")
        results: dict[str, Any] = json.loads(process.stdout)
        return results


def build_stacks(folder: Path) -> list[Stack]:
    """Create the folders of all stacks, and return the stacks, Atrium first."""
    atrium_folder, source_folder, compiled_folder = folder / "atrium", folder / "shipped", folder / "compiled"
    with ZipFile(build_package(folder=folder)) as package:
        package.extractall(atrium_folder)
    (libraries,) = _VIRTUAL_ENVIRONMENT.glob("lib/python*/site-packages")
    shutil.copytree(libraries, source_folder, ignore=shutil.ignore_patterns(*_EXCLUDED))
    module_folder = source_folder / "benchmarks" / "peers"
    module_folder.mkdir(parents=True)
    for name in _PEER_MODULES:
        shutil.copy(Path(__file__).with_name(name), module_folder)
    shutil.copytree(source_folder, compiled_folder)
    compileall.compile_dir(compiled_folder, quiet=2)
    peers = [
        ("usual", "benchmarks.peers.chalice_baseline", "app"),
        ("popular", "benchmarks.peers.fastapi_baseline", "handler"),
    ]
    return [
        Stack("atrium", atrium_folder, "app", "app", "atrium"),
        *(Stack(name, source_folder, module, handler, name) for name, module, handler in peers),
        *(Stack(f"{name}, compiled", compiled_folder, module, handler, name) for name, module, handler in peers),
    ]
