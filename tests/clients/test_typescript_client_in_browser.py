"""The TypeScript client in a browser, on a page of the service's own origin."""

import pytest

from local.seed.organization import person_by_username
from tests.clients.test_typescript_client import run_node
from tests.harness.browser import LoggedPage

pytestmark = pytest.mark.xdist_group("browser")

PROGRAM = """
async ([baseUrl, token]) => {
  const client = new atrium.Atrium({ baseUrl, getToken: () => token });
  const key = { 'X-Fault': 'lose-answer 1 browser' };
  const created = await client.organizations.create({ name: 'In a browser' }, { headers: key }).withResponse();
  const { etag } = await client.organizations.get(created.data.id).withResponse();
  await client.organizations.update(created.data.id, { name: 'Changed' }, { ifMatch: etag });
  const outdated = client.organizations.update(created.data.id, { name: 'Late' }, { ifMatch: etag });
  const failure = await outdated.catch((error) => [error instanceof atrium.PreconditionFailed, error.name, error.code]);
  const roles = [];
  for await (const member of client.organizations.members.list(created.data.id)) roles.push(member.role);
  return { replayed: created.response.headers.get('Idempotency-Replayed'), failure, roles };
}
"""


def test_a_page_uses_the_seeded_service(browser, server, seed_issuer, tmp_path):
    bundle = tmp_path / "client.js"
    options = ["--bundle", "--minify", "--format=iife", "--global-name=atrium", f"--outfile={bundle}"]
    run_node("node_modules/esbuild/bin/esbuild", "src/index.ts", "--log-level=error", *options)
    with LoggedPage(browser) as logged:
        page = logged.page
        page.route("**/blank", lambda route: route.fulfill(content_type="text/html", body="<!doctype html>"))
        page.goto(f"{server.url}/blank")
        page.add_script_tag(content=bundle.read_text())
        result = page.evaluate(PROGRAM, [server.url, seed_issuer.create_token(person_by_username("maud"))])
    assert result == {
        "replayed": "true",
        "failure": [True, "PreconditionFailed", "precondition_failed"],
        "roles": ["owner"],
    }
