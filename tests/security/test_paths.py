"""Path traversal: in paths of pages, names of exported files and entries of packages."""

import re
from typing import Any, Final
from urllib.parse import urlsplit
from zipfile import ZipFile

from infrastructure import archive
from tests.harness.exports import create_export

TRAVERSAL_PATHS: Final = [
    *("/../..", "/../looms", "/..%2f..%2flooms", "/%2e%2e/looms", "/%252e%252e/looms", "/..\\..\\looms", "\\looms"),
    *("/%5c%5cevil.example", "//evil.example", "/\\evil.example", "///evil.example/%2e%2e", "https://evil.example/"),
    *("/.%00./looms", "/looms%00.html", "/looms;jsessionid=1", "/%c0%ae%c0%ae/", "/\uff0e\uff0e/looms", "/looms/..;/"),
    *("/etc/passwd", "file:///etc/passwd", "/%0d%0aSet-Cookie:%20a=b", "/\u202elooms", "/%", "/%zz", "/?path=/looms"),
    "/#looms",
]


def redirect_targets(answer: Any) -> list[str]:
    redirect = answer.json.get("redirect") if answer.text.startswith("{") else None
    return [answer.headers.get("Location", ""), (redirect or {}).get("location", "")]


def test_path_traversal_finds_only_pages_of_the_site(tenant):
    pages, host = f"{tenant.site.path}/pages", tenant.site.record["host"]
    visible_pages = [tenant.api.get(f"{pages}/by-path", query={"path": path}).json for path in ("/", "/looms")]
    for path in TRAVERSAL_PATHS:
        by_path = tenant.api.get(f"{pages}/by-path", query={"path": path})
        assert by_path.status in (404, 422) or by_path.json in visible_pages, path
        resolved = tenant.api.get("/sites/resolve", query={"host": host, "path": path})
        assert resolved.status in (404, 422) or resolved.json["page"] in (None, *visible_pages), path
        for target in (*redirect_targets(by_path), *redirect_targets(resolved)):
            assert "evil.example" not in (urlsplit(target).netloc, urlsplit(target.replace("\\", "/")).netloc)
            assert not re.match(r"[/\\]{2}|\w+:(?!//)", target), path


def test_export_file_name_contains_no_user_input(tenant, workers, clock):
    owner = tenant.people.owner
    clock.freeze("2027-03-21T09:00:00.000Z")
    name = '../../x"; filename="evil.exe\r\nSet-Cookie: a=b'
    renamed = tenant.api.patch(tenant.organization.path, caller=owner, json={"name": name.replace("\r\n", " ")})
    assert renamed.status == 200
    text = tenant.api.get(f"{tenant.organization.path}/audit-log/export", caller=owner)
    assert re.fullmatch(r'attachment; filename="[a-z0-9.-]+"', text.headers["Content-Disposition"])
    export = create_export(tenant.api, tenant.organization)
    workers.run_until_idle()
    download_url = export.get(tenant.api)["downloadUrl"]
    url = urlsplit(download_url)
    assert f"/{tenant.id}/{export.id}/audit-log." in url.path
    assert ".." not in url.path
    assert "evil" not in download_url


def test_package_entries_stay_in_their_folder(tmp_path):
    task = tmp_path / "task"
    (task / "..deep" / "a").mkdir(parents=True)
    for name in ("..deep/a/b.py", "a\\..\\b.py", "-rf", "\u202eyp.x"):
        (task / name).write_text("pass\n")
    (tmp_path / "outside.py").write_text("pass\n")
    archive.write_zip(task, tmp_path / "package.zip")
    with ZipFile(tmp_path / "package.zip") as package:
        names = package.namelist()
        package.extractall(tmp_path / "unpacked" / "deep")
    assert not [name for name in names if name.startswith("/") or ".." in name.split("/")]
    assert [path.name for path in (tmp_path / "unpacked").iterdir()] == ["deep"]
    assert "outside.py" not in " ".join(names)
