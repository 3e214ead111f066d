"""`make release` tags a clean commit that the changelog describes, and builds archives with checksums."""

import hashlib
import os
import re
import subprocess
import sys
from zipfile import ZipFile

import pytest

from chalicelib.kernel.core.version import VERSION
from infrastructure.account import CommandError
from infrastructure.package import running_python_version
from infrastructure.release import release_notes
from local.paths import ROOT
from tests.harness import project_copies

pytestmark = pytest.mark.xdist_group("package")

COPIED = (".gitignore", ".chalice", "CHANGELOG.md", "app.py", "chalicelib", "infrastructure", "openapi.json")
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
TAG = f"v{VERSION}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with the project's files in one commit."""
    folder = project_copies.copy_project((*COPIED, "requirements.txt"), tmp_path_factory.mktemp("release"))
    project_copies.run_in_copy(["git", "init", "--quiet"], folder)
    commit_all(folder)
    return folder


def commit_all(folder):
    project_copies.run_in_copy([*GIT, "add", "--all"], folder)
    project_copies.run_in_copy([*GIT, "commit", "--quiet", "--message", "Change"], folder)


def run_release(folder):
    """Run the command, and return its exit code and its output."""
    identity = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")} | identity
    command = [sys.executable, "-m", "infrastructure", "release"]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def test_the_version_is_the_newest_of_the_changelog_and_that_of_the_status(api):
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[:2] == ["Unreleased", VERSION]
    assert release_notes(VERSION, changelog)
    assert api.get("/status").json["version"] == VERSION
    assert "version" in re.findall(r'^dynamic = .*"(version)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


def test_the_notes_of_a_release_are_its_section_of_the_changelog():
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2027-01-01\n\n### Added\n\n- A\n\n## [0.9.0] - 2026-11-27\n"
    )
    assert release_notes("1.0.0", changelog) == "### Added\n\n- A\n"
    for version, text, expected in (
        ("0.9.0", changelog, "no changes"),
        ("1.0.0", changelog.replace(" - 2027-01-01", ""), "YYYY-MM-DD"),
        ("1.1.0", changelog, "[1.1.0]"),
        ("1.0.0rc1", changelog, "like 1.2.3"),
    ):
        with pytest.raises(CommandError, match=re.escape(expected)):
            release_notes(version, text)


def test_a_changed_tree_a_missing_section_and_an_existing_tag_are_refused(repository):
    (repository / "note.txt").write_text("Not committed.\n")
    assert run_release(repository) == (
        1,
        "The working tree differs from the last commit. Commit or remove:\n?? note.txt\n",
    )
    (repository / "note.txt").unlink()
    project_copies.run_in_copy(["git", "tag", TAG], repository)
    code, output = run_release(repository)
    assert (code, output.partition(". ")[0]) == (1, f"The tag {TAG} exists")
    project_copies.run_in_copy(["git", "tag", "--delete", TAG], repository)
    version, original = repository / "chalicelib/kernel/core/version.py", (ROOT / "chalicelib/kernel/core/version.py")
    version.write_text(original.read_text().replace(VERSION, "7.0.0"))
    code, output = run_release(repository)
    assert (code, "`## [7.0.0] - YYYY-MM-DD`" in output) == (1, True)
    version.write_text(original.read_text())
    assert project_copies.run_in_copy(["git", "tag"], repository) == ""
    assert not (repository / "build").exists()


def test_a_release_is_an_annotated_tag_and_archives_with_checksums(repository):
    code, output = run_release(repository)
    assert (code, output.partition("\n")[0]) == (0, f"The commit is tagged {TAG}. To publish it: git push origin {TAG}")
    built = repository / "build/release"
    source, package = f"atrium-{VERSION}.zip", f"atrium-{VERSION}-lambda-python{running_python_version()}.zip"
    sums = dict(line.split("  ")[::-1] for line in (built / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in (source, package)}
    with ZipFile(built / source) as archive:
        tracked = project_copies.run_in_copy(["git", "ls-files"], repository).splitlines()
        assert sorted(archive.namelist()) == sorted(f"atrium-{VERSION}/{name}" for name in tracked)
        assert archive.read(f"atrium-{VERSION}/app.py") == (ROOT / "app.py").read_bytes()
    assert "app.py" in ZipFile(built / package).namelist()
    head, tagged = (
        project_copies.run_in_copy(["git", "rev-parse", f"{name}^{{commit}}"], repository) for name in ("HEAD", TAG)
    )
    assert head == tagged
    message = project_copies.run_in_copy(["git", "tag", "--list", "--format=%(contents)", TAG], repository)
    assert message.startswith(
        f"Atrium {VERSION}\n\n{release_notes(VERSION, (ROOT / 'CHANGELOG.md').read_text())[:200]}"
    )
    again = "from infrastructure import release; release._build_source_archive()"
    (built / source).unlink()
    project_copies.run_in_copy([sys.executable, "-c", again], repository, TZ="Asia/Tokyo")
    assert hashlib.sha256((built / source).read_bytes()).hexdigest() == sums[source]
