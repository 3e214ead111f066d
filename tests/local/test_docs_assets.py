"""The vendored library of the documentation page: its files match the pinned digests, and others are rejected."""

import hashlib
import os
import tarfile
from io import BytesIO

import pytest

from local.generators import docs_assets
from local.tools.node import DigestMismatch, integrity_of
from tests.harness.programs import write_program


def build_archive(files, member_type=tarfile.REGTYPE):
    """Return an npm archive of files. Its stylesheets end with the comment that names a source map."""
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            stored = text.removesuffix(b"\n") + b"/*# sourceMappingURL=a.css.map*/" if name.endswith(".css") else text
            member = tarfile.TarInfo(f"package/{name}")
            member.type = member_type
            member.size = len(stored) if member.isfile() else 0
            archive.addfile(member, BytesIO(stored))
    return content.getvalue()


@pytest.fixture
def vendored():
    return {name: (docs_assets.FOLDER / name).read_bytes() for name in docs_assets.DIGESTS}


def test_the_vendored_files_match_the_pinned_digests(vendored):
    assert {name: hashlib.sha256(content).hexdigest() for name, content in vendored.items()} == docs_assets.DIGESTS
    assert {file.name for file in docs_assets.FOLDER.iterdir()} == {*vendored, "README.md"}
    assert docs_assets.VERSION in (docs_assets.FOLDER / "README.md").read_text()


def test_a_refresh_writes_the_pinned_files(vendored, tmp_path, monkeypatch):
    archive = build_archive({**vendored, "swagger-ui.css.map": b"{}"})
    (tmp_path / "packed").write_bytes(archive)
    write_program(tmp_path / "node", "echo v20.0.0")
    write_program(tmp_path / "npm", f'echo "$@" > {tmp_path}/arguments\ncp {tmp_path}/packed "$PWD/package.tgz"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(docs_assets, "INTEGRITY", integrity_of(archive))
    monkeypatch.setattr(docs_assets, "FOLDER", tmp_path / "vendor")
    docs_assets.FOLDER.mkdir()
    docs_assets.main()
    assert {file.name: file.read_bytes() for file in docs_assets.FOLDER.iterdir()} == vendored
    assert f"swagger-ui-dist@{docs_assets.VERSION}" in (tmp_path / "arguments").read_text()


def test_files_with_other_digests_are_rejected(vendored):
    archive = build_archive({**vendored, "swagger-ui-bundle.js": b"alert(1)"})
    with pytest.raises(DigestMismatch, match="The files are"):
        docs_assets.unpack(archive)


def test_a_folder_in_place_of_a_file_is_rejected(vendored):
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in vendored:
            folder = tarfile.TarInfo(f"package/{name}")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
    with pytest.raises(DigestMismatch, match="is not a file"):
        docs_assets.unpack(content.getvalue())
