"""Modules that few requests need are imported with the first request that needs them."""

from tests.harness.fresh_process import run_in_fresh_process

PROGRAM = """
import json, sys
from pydantic import TypeAdapter

def imported(*names):
    return [name for name in names if name in sys.modules]

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.crypto import checkpoints, merkle, symmetric
from chalicelib.kernel.identity import api_key_format, jwt
from chalicelib.features.notifications.models import webhook_urls
from chalicelib.kernel.outbound import ip_addresses, mail, webhook_client
TypeAdapter(webhook_urls.TargetUrl).validate_python("https://example.com/hooks")
early = imported("cryptography", "jwt", "httpcore", "h11", "dns", "idna", "jinja2")
mail.render_email("features/tenancy/invitations/mail.jinja", inviter=None, place="a", role="member", message=None,
                  accept_url="https://a.example", unsubscribe_url=None, email="a@b.example",
                  expires_at="2026-11-07T09:30:00.000Z")
print(json.dumps([early, imported("jinja2")]))
"""


def test_libraries_for_tokens_networks_unicode_and_mail_are_imported_at_their_first_use():
    assert run_in_fresh_process(PROGRAM) == [[], ["jinja2"]]
