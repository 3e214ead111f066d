"""The Chalice project from which a stage is deployed or packaged. It contains Atrium's own package."""

import shutil
from pathlib import Path
from zipfile import ZipFile

from chalice.deploy.packager import DependencyBuilder, LambdaDeploymentPackager
from chalice.utils import UI, OSUtils

from infrastructure.configuration import PROJECT
from infrastructure.package import build_package, running_python_version


def create_project(stage: str, folder: Path | None = None, package: Path | None = None) -> Path:
    """Create the project folder of a stage, by default build/<stage>, and return it.

    It contains a copy of .chalice with the deployment records. `chalice deploy` and `chalice package` use `package`
    byte for byte; by default it is built. Raises CommandError.
    """
    package = package or build_package()
    project = folder or PROJECT / "build" / stage
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(PROJECT / ".chalice", project / ".chalice", ignore=shutil.ignore_patterns("deployments", "venv"))
    with ZipFile(package) as zipped:
        # It is compiled, so importing it writes no files, which would change the digest that Chalice compares.
        ours = [name for name in zipped.namelist() if name == "app.py" or name.startswith("chalicelib/")]
        zipped.extractall(project, ours)
    (project / "requirements.txt").touch()  # Chalice must not install anything.
    ready = Path(_packager().deployment_package_filename(str(project), f"python{running_python_version()}"))
    ready.parent.mkdir()
    shutil.copy(package, ready)
    return project


def _packager() -> LambdaDeploymentPackager:
    osutils = OSUtils()
    return LambdaDeploymentPackager(osutils, DependencyBuilder(osutils), UI())
