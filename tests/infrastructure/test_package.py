"""The deployment package is small, complete, compiled, built for Lambda's Linux, and reproducible."""

import hashlib
import json
import marshal
import re
import sys
from importlib.util import MAGIC_NUMBER
from io import BytesIO
from pathlib import Path
from types import CodeType
from zipfile import ZipFile

import pytest
from botocore.loaders import Loader
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from chalicelib.entrypoints import documentation
from infrastructure.account import CommandError
from infrastructure.botocore_models import API_ACTIONS
from infrastructure.chalice_project import create_project
from infrastructure.package import MAX_BYTES, find_python, running_python_version
from local.paths import ROOT
from tests.harness import configured_stages, project_copies

pytestmark = pytest.mark.xdist_group("package")

IMPORT_ALL_SCRIPT = """
import json, pkgutil, sys
from importlib import import_module
sys.path.insert(0, sys.argv[1])
import app, chalicelib
import dns.resolver, httpcore, jinja2, jwt, markdown_it, nh3
from aws_lambda_powertools.utilities.batch import process_partial_response
for module in pkgutil.walk_packages(chalicelib.__path__, "chalicelib."):
    import_module(module.name)
ours = [m for m in sys.modules.values() if (getattr(m, "__file__", None) or "").startswith(sys.argv[1])]
print(json.dumps({m.__name__: type(m.__loader__).__name__ for m in ours}))
"""


@pytest.fixture(scope="module")
def package(build_package):
    return build_package(running_python_version())


@pytest.fixture(scope="module")
def files(package):
    """The content of each file in the package, by name."""
    with ZipFile(package) as zipped:
        assert zipped.testzip() is None
        return {name: zipped.read(name) for name in zipped.namelist()}


@pytest.mark.exhaustive
def test_builds_in_different_folders_are_identical(package, tmp_path):
    names = ("chalicelib", "infrastructure", "app.py", "openapi.json", "requirements.txt")
    project = project_copies.copy_project(names, tmp_path / "a project in another folder")
    command = [sys.executable, "-m", "infrastructure", "package"]
    environment = {"SOURCE_DATE_EPOCH": "1000000000", "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    output = project_copies.run_in_copy(command, project, **environment)
    other = project / "build" / "package" / package.name
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    assert other.read_bytes() == package.read_bytes()
    assert output == f"{other}  {package.stat().st_size} bytes  sha256 {digest}\n"


def test_the_package_is_small_and_its_entries_are_sorted_and_readable_and_have_a_fixed_date(package):
    assert package.stat().st_size <= MAX_BYTES
    entries = ZipFile(package).infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {(entry.date_time, entry.external_attr >> 16) for entry in entries} == {((1980, 1, 1, 0, 0, 0), 0o100644)}


def test_the_package_contains_the_files_of_the_service_and_no_others_of_the_project(files):
    ours = {
        path.relative_to(ROOT).as_posix(): path
        for path in (ROOT / "chalicelib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.parts[-2] != "openapi"
    }
    compiled = {f"{name}c" for name in ours if name.endswith(".py")}
    data = {name: path for name, path in ours.items() if not name.endswith(".py")}
    assert {name for name in files if name.startswith("chalicelib/")} == compiled | data.keys()
    document = data.pop("chalicelib/entrypoints/docs/openapi.json")
    assert json.loads(files["chalicelib/entrypoints/docs/openapi.json"]) == json.loads(document.read_text())
    assert all(files[name] == path.read_bytes() for name, path in data.items())
    assert files["app.py"] == (ROOT / "app.py").read_bytes()
    assert {name for name in files if name.startswith("chalice/")} == {"chalice/__init__.pyc", "chalice/app.pyc"}
    foreign = {"infrastructure", "local", "tests", "bin"} | {"boto3", "botocore", "s3transfer"}
    assert not {name.partition("/")[0] for name in files} & (foreign | {"moto", "pip", "setuptools"})
    assert not [name for name in files if re.search(r"\.pyi$|__pycache__|/tests?/|\.h$|RECORD$", name)]


def test_the_package_contains_the_files_that_the_documentation_page_offers(files):
    offered = [path.relative_to(ROOT).as_posix() for path in documentation._ASSETS.values()]  # noqa: SLF001 - they are not otherwise named
    assert [name for name in offered if name not in files] == []


def test_botocore_finds_the_models_of_all_calls_in_the_package(package, tmp_path):
    with ZipFile(package) as zipped:
        zipped.extractall(tmp_path, [name for name in zipped.namelist() if name.startswith("aws_models/")])
    loader = Loader(extra_search_paths=[str(tmp_path / "aws_models")], include_default_search_paths=False)
    assert {name: {*loader.load_service_model(name, "service-2")["operations"]} for name in API_ACTIONS} == API_ACTIONS
    assert loader.load_data("endpoints")["partitions"][0]["services"]["s3"]


def test_the_package_contains_pinned_libraries_with_their_licences(files):
    pinned = set(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    packaged_libraries = set()
    for name in [name for name in files if name.endswith(".dist-info/METADATA")]:
        metadata = dict(line.split(": ", 1) for line in files[name].decode().splitlines())
        packaged_libraries.add((re.sub(r"[-_.]+", "-", metadata["Name"]).lower(), metadata["Version"]))
        licences = [file for file in files if file.startswith(name.removesuffix("METADATA")) and file != name]
        assert licences, f"no licence is next to {name}"
    assert {name for name, _ in pinned - packaged_libraries} == {"pycparser"}
    assert packaged_libraries <= pinned


def test_every_module_except_the_app_is_compiled_with_an_unchecked_hash(files):
    assert {name for name in files if name.endswith(".py")} == {"app.py"}
    compiled = {name: content for name, content in files.items() if name.endswith(".pyc")}
    for name, content in compiled.items():
        assert content[:8] == MAGIC_NUMBER + b"\x01\0\0\0", f"{name} has no unchecked hash"
        code: CodeType = marshal.loads(content[16:])  # noqa: S302 - the build wrote it
        assert code.co_filename == f"/var/task/{name[:-1]}"


def test_all_modules_can_be_imported_and_none_is_compiled_again(package, tmp_path):
    with ZipFile(package) as zipped:
        zipped.extractall(tmp_path / "task")
    before = set(tmp_path.rglob("*"))
    command = [sys.executable, "-W", "error", "-c", IMPORT_ALL_SCRIPT, str(tmp_path / "task")]
    loaders = json.loads(project_copies.run_in_copy(command, tmp_path))
    assert {name for name, loader in loaders.items() if loader == "SourceFileLoader"} == {"app"}
    assert len([name for name in loaders if name.startswith("chalicelib.")]) > 200
    new_files = {path.name.partition(".")[0] for path in set(tmp_path.rglob("*")) - before}
    assert new_files <= {"__pycache__", "app"}


def test_native_libraries_run_on_amazon_linux_2(files):
    libraries = {name: content for name, content in files.items() if name.endswith(".so")}
    assert len(libraries) > 4
    for name, content in libraries.items():
        requirements = ELFFile(BytesIO(content)).get_section_by_name(".gnu.version_r")
        assert isinstance(requirements, GNUVerNeedSection)
        versions = [
            version.name for _, library_versions in requirements.iter_versions() for version in library_versions
        ]
        glibc_versions = [
            version.removeprefix("GLIBC_").split(".") for version in versions if version.startswith("GLIBC_")
        ]
        assert max(tuple(map(int, version)) for version in glibc_versions) <= (2, 17), name


@pytest.mark.exhaustive
def test_chalice_uses_the_package_unchanged(package, tmp_path):
    project = create_project("dev", tmp_path / "dev", package)
    configured_stages.configure_stage(project)
    chalice = str(Path(sys.executable).with_name("chalice"))
    command = [chalice, "package", "--stage", "dev", "out"]
    output = project_copies.run_in_copy(command, project, AWS_DEFAULT_REGION="eu-central-1")
    assert "Reusing existing deployment package." in output
    assert (project / "out" / "deployment.zip").read_bytes() == package.read_bytes()


def test_a_python_version_is_found_in_pyenv_and_rejected_if_lambda_or_the_machine_lacks_it(tmp_path, monkeypatch):
    with pytest.raises(CommandError, match=r"not on 3\.9\."):
        find_python("3.9")
    for name in ("PATH", "UV_PYTHON_INSTALL_DIR", "PYENV_ROOT"):
        monkeypatch.setenv(name, str(tmp_path))
    version = running_python_version()
    other = "3.12" if version != "3.12" else "3.13"
    with pytest.raises(CommandError, match=f"Python {re.escape(other)} is not installed on this machine"):
        find_python(other)

    executable = tmp_path / "versions" / f"{version}.0" / "bin" / f"python{version}"
    executable.parent.mkdir(parents=True)
    executable.symlink_to(Path(sys.executable).resolve())
    monkeypatch.setattr("infrastructure.package.running_python_version", lambda: "another")
    assert Path(find_python(version)).samefile(executable)
