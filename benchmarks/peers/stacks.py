"""The stacks that are measured, each in a folder as Lambda has it in /var/task.

Atrium's is its package, compiled, as `infrastructure package` builds it. The peers' hold their libraries and their code
as Chalice's and SAM's packagers ship them, sources only: nothing that Lambda compiles of them can be kept there. Each
has a second one beside it that differs in being compiled.
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

from infrastructure.package import build
from local.paths import ROOT

_ENVIRONMENT: Final = ROOT / ".venv-peers"
_RUNTIMES: Final = ("boto3*", "botocore*", "s3transfer*", "pip*", "setuptools*", "wheel*", "__pycache__", "*.pyc")
_OURS: Final = ("models.py", "tokens.py", "records.py", "chalice_baseline.py", "fastapi_baseline.py")
_PROGRAM: Final = Path(__file__).with_name("function.py")
_SECONDS: Final = 120


class Failed(Exception):
    """A stack ended before it had told anything."""


@dataclass(frozen=True)
class Stack:
    """A stack: its name, its folder, where its handler is, whether it is a peer, and which table it has."""

    name: str
    folder: Path
    module: str
    attribute: str
    table: str

    def run(self, environment: Mapping[str, str], plan: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a plan in a process of its own, and return what it found. Raises Failed."""
        done = subprocess.run(  # noqa: S603 - our own program
            [str(_ENVIRONMENT / "bin" / "python"), "-B", str(_PROGRAM), self.module, self.attribute],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "TABLE": self.table, **environment},
            input=json.dumps(plan),
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise Failed(f"{self.name} failed:\n{done.stderr[-4000:]}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def stacks(folder: Path) -> list[Stack]:
    """Make the folders of all stacks below a folder, and return the stacks, Atrium first."""
    task, shipped, compiled = folder / "atrium", folder / "shipped", folder / "compiled"
    with ZipFile(build(into=folder)) as package:
        package.extractall(task)
    (libraries,) = _ENVIRONMENT.glob("lib/python*/site-packages")
    shutil.copytree(libraries, shipped, ignore=shutil.ignore_patterns(*_RUNTIMES))
    ours = shipped / "benchmarks" / "peers"
    ours.mkdir(parents=True)
    for name in _OURS:
        shutil.copy(Path(__file__).with_name(name), ours)
    shutil.copytree(shipped, compiled)
    compileall.compile_dir(compiled, quiet=2)
    peers = [
        ("usual", "benchmarks.peers.chalice_baseline", "app"),
        ("popular", "benchmarks.peers.fastapi_baseline", "handler"),
    ]
    return [
        Stack("atrium", task, "app", "app", "atrium"),
        *(Stack(name, shipped, module, handler, name) for name, module, handler in peers),
        *(Stack(f"{name}, compiled", compiled, module, handler, name) for name, module, handler in peers),
    ]
