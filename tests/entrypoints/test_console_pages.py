"""The files of the console and the headers of its pages, over HTTP."""

import html
import json
import re
from typing import Final

import pytest

from chalicelib.entrypoints.console import asset_names
from local.paths import ROOT

BUNDLE: Final = ROOT / "chalicelib/entrypoints/console_bundle"
PAGES: Final = {
    "/console": "index",
    "/invitation": "invitation",
    "/domain-setup": "domain-setup",
    "/webhook-portal": "webhook-portal",
}
CONFIGURATION: Final = re.compile(r'<meta name="atrium-configuration" content="([^"]*)">')
ISSUER: Final = {
    "console_client_id": 'console"><script>',
    "console_discovery_url": "https://login.example.com/.well-known/openid-configuration",
}


def directives(response):
    parts = (part.strip().partition(" ") for part in response.headers["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize("path", PAGES)
class TestPage:
    def test_it_contains_its_configuration_as_text(self, api, configure, path):
        configure(**ISSUER, console_audience="https://api.example.com")
        response = api.get(path).expect(200)
        (content,) = CONFIGURATION.findall(response.text)
        assert json.loads(html.unescape(content)) == {
            "apiBase": "/api",
            "clientId": ISSUER["console_client_id"],
            "discoveryUrl": ISSUER["console_discovery_url"],
            "scope": "openid profile email",
            "audience": "https://api.example.com",
        }
        assert "${" not in response.text

    def test_its_policy_admits_only_the_files_of_the_service_and_the_endpoints_of_the_issuer(
        self, api, configure, path
    ):
        configure(**ISSUER)
        policy = directives(api.get(path))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert policy["trusted-types"] == "atrium-worker"
        assert policy["worker-src"] == "'self'"
        assert policy["connect-src"] == "'self' https://login.example.com"
        configure(console_issuer_origins="https://login.example.com, https://tokens.example.com")
        assert directives(api.get(path))["connect-src"] == "'self' https://login.example.com https://tokens.example.com"

    def test_it_has_no_inline_script_or_style_and_only_files_that_exist(self, api, path):
        text = api.get(path).text
        assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", text)
        urls = re.findall(r'(?:href|src)="([^"]*)"', text)
        files = {url.removeprefix("/api/console/") for url in urls if not url.startswith("data:")}
        assert files
        assert files <= asset_names()

    def test_it_is_revalidated_and_isolated(self, api, path):
        response = api.get(path)
        assert response.headers["Cache-Control"] == "no-cache"
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert api.get(path, headers={"If-None-Match": response.headers["ETag"]}).status == 304


def test_the_discovery_document_is_that_of_the_issuer_of_tokens_by_default(api, configure):
    configure(auth_issuer="https://id.example.com/", console_client_id="console", console_discovery_url="")
    response = api.get("/console")
    assert "https://id.example.com/.well-known/openid-configuration" in response.text
    assert directives(response)["connect-src"] == "'self' https://id.example.com"


def test_each_file_of_the_bundle_is_served_and_cached_permanently(api):
    assert asset_names() == {file.name for file in (BUNDLE / "assets").iterdir()}
    for name in asset_names():
        response = api.get(f"/console/{name}").expect(200)
        assert response.text == (BUNDLE / "assets" / name).read_text()
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        expected = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
        assert response.headers["Content-Type"] == expected[name.rpartition(".")[2]]


@pytest.mark.parametrize("name", ["index.html", "none.js", "..", "console"])
def test_other_files_are_not_served(api, name):
    api.get(f"/console/{name}").expect_problem("404 not_found")


def test_the_token_of_an_invitation_is_only_read_by_the_browser(api):
    response = api.get("/invitation", query={"token": "a-token-of-mine"}).expect(200)
    assert "a-token-of-mine" not in response.text
    assert "Ignored-Parameters" not in response.headers
