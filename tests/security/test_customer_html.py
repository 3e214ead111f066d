"""HTML with content of customers cannot act as the service, although it may be served from the console's origin."""

import re
from typing import Final

from chalicelib.entrypoints.catalogue import all_operations
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations
from tests.security.test_caches import HTML, documented_media_types

OWN_PAGES: Final = {
    "describe_subscription": "A page of the service with a button, which needs its origin to send the form.",
    "unsubscribe": "A page of the service.",
    "get_docs": "A page of the service, which runs its scripts.",
    "get_docs_asset": "A page of the service, which runs its scripts.",
    "get_console": "The console, which runs its scripts and calls the API.",
    "get_invitation_page": "A page of the console, which runs its scripts and calls the API.",
    "get_domain_setup_page": "A page of the console, which runs its scripts and calls the API.",
    "get_webhook_portal_page": "A page of the console, which runs its scripts and calls the API.",
}
"""The operations whose HTML is only the service's own, with the reason why it is not sandboxed."""

ALLOWED: Final = {
    *("allow-downloads", "allow-popups", "allow-popups-to-escape-sandbox", "allow-top-navigation-by-user-activation"),
}


def sandbox_of(answer: ApiResponse) -> set[str] | None:
    """Return what the sandbox of a document allows, or None if it has no sandbox."""
    match = re.search(r"(?:^|;)\s*sandbox([^;]*)", answer.headers.get("Content-Security-Policy", ""))
    return set(match[1].split()) if match else None


def customer_texts(tenant: TenantFixture) -> list[str]:
    page = tenant.page.record
    return [str(tenant.site.record["name"]), str(page["title"]), str(tenant.organization.record["name"])]


@parametrize_operations(lambda o: "text/html" in documented_media_types(o))
def test_html_with_content_of_customers_is_sandboxed_and_other_html_contains_none(operation, tenant):
    answer = call_operation(operation, tenant, headers=HTML).expect(operation.success)
    assert answer.headers["Content-Type"].startswith("text/html")
    if operation.id in OWN_PAGES:
        assert not [text for text in customer_texts(tenant) if text in answer.text]
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    else:
        assert sandbox_of(answer) == ALLOWED


@parametrize_operations(lambda o: "text/html" in documented_media_types(o) and o.id not in OWN_PAGES)
def test_html_of_errors_is_sandboxed_too(operation, tenant):
    wrong = {"host": tenant.site.record["host"], "path": "/nothing-here", "token": "wrong"}
    answer = call_operation(operation, tenant, headers=HTML, query=wrong)
    is_html = answer.headers["Content-Type"].startswith("text/html")
    assert sandbox_of(answer) == (ALLOWED if is_html else None)
    assert is_html or answer.headers["Content-Type"] == "application/problem+json"


def test_the_pages_for_missing_pages_and_unknown_hosts_are_sandboxed(tenant):
    for query in ({"host": tenant.site.record["host"], "path": "/nothing-here"}, {"host": "nobody.example"}):
        answer = tenant.api.get("/sites/resolve", query=query, headers=HTML).expect(404)
        assert (answer.headers["Content-Type"], sandbox_of(answer)) == ("text/html; charset=utf-8", ALLOWED)


def test_every_page_of_the_service_is_html():
    html_operations = {each.id for each in all_operations() if "text/html" in documented_media_types(each)}
    assert html_operations > set(OWN_PAGES)
