"""The Chalice project that a stage is deployed or packaged from: our package, where Chalice looks for its own."""

import shutil
from pathlib import Path
from zipfile import ZipFile

from chalice.deploy.packager import DependencyBuilder, LambdaDeploymentPackager
from chalice.utils import UI, OSUtils

from infrastructure.configuration import PROJECT
from infrastructure.package import build, running


def stage_project(stage: str, into: Path | None = None, package: Path | None = None) -> Path:
    """Make the project of a stage anew, in build/<stage> unless told, and return its folder.

    It holds .chalice as the project does, what was deployed included. `chalice deploy` and `chalice package` there
    take `package` byte for byte, which is built unless it is given. Raises Refused.
    """
    package = package or build()
    project = into or PROJECT / "build" / stage
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(PROJECT / ".chalice", project / ".chalice", ignore=shutil.ignore_patterns("deployments", "venv"))
    with ZipFile(package) as zipped:
        # Compiled already: importing it writes no files, which would change the digest that Chalice looks for.
        ours = [name for name in zipped.namelist() if name == "app.py" or name.startswith("chalicelib/")]
        zipped.extractall(project, ours)
    (project / "requirements.txt").touch()  # Chalice is to install nothing.
    ready = Path(_packager().deployment_package_filename(str(project), f"python{running()}"))
    ready.parent.mkdir()
    shutil.copy(package, ready)
    return project


def _packager() -> LambdaDeploymentPackager:
    osutils = OSUtils()
    return LambdaDeploymentPackager(osutils, DependencyBuilder(osutils), UI())
