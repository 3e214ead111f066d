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
from chalicelib.entrypoints import event_types
from chalicelib.features.events.entries import operations as entries
from chalicelib.features.events.types import operations as types
from chalicelib.features.events.types.logic.definitions import Definition
early += imported("jsonschema_rs")
Definition("a.a", 1, False, "", {}, "", None).list_errors({})
print(json.dumps([early, imported("jinja2", "jsonschema_rs")]))
"""


def test_libraries_for_tokens_networks_unicode_mail_and_schemas_are_imported_at_their_first_use():
    assert run_in_fresh_process(PROGRAM) == [[], ["jinja2", "jsonschema_rs"]]
