"""A credential stands in `Authorization`, once, and nowhere else; and what has ended opens nothing."""

import json
from typing import Final

import pytest

from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import perform
from tests.catalogue.tenant_fixture import World
from tests.catalogue.test_permissions import is_shown
from tests.conftest import Configure
from tests.harness import callers
from tests.harness.by_operation import by_operation
from tests.harness.clock import Clock
from tests.harness.log_lines import written
from tests.harness.organizations import created_key, make_key
from tests.harness.workers import Workers

NAMES: Final = ("access_token", "api_key", "apiKey", "key", "token", "Authorization", "authorization", "jwt")
HEADERS: Final = (
    "X-Api-Key",
    "X-Authorization",
    "X-Access-Token",
    "Proxy-Authorization",
    "X-Forwarded-Authorization",
    "X-User-Id",
    "X-Amz-Security-Token",
    "X-Original-Authorization",
    "X-Forwarded-User",
    "Token",
    "Api-Key",
)
PROTECTED: Final = by_operation(
    lambda o: (
        (o.access in (Caller.PRINCIPAL, Caller.USER, Caller.OPERATOR) or isinstance(o.access, RequireRole))
        and not is_shown(o)
    )
)


def strongest(operation: Operation, world: World) -> callers.Caller:
    """Whoever may call it, whatever else is asked for."""
    return world.people.operator if operation.access is Caller.OPERATOR else world.people.owner


@PROTECTED
def test_misplaced_credentials_are_ignored(operation: Operation, world: World) -> None:
    credential = strongest(operation, world).credential
    bare = perform(operation, world, as_=None)
    query = {name: credential for name in NAMES if name not in ("token", "key")}
    headers = dict.fromkeys(HEADERS, f"Bearer {credential}") | {"Cookie": f"Authorization=Bearer {credential}; token=x"}
    found = perform(operation, world, as_=None, query=query, headers=headers)
    assert found.status in (401, 404)
    assert found.refusal == bare.refusal
    tokens = (world.lead.token, world.organization.preview_token)
    for token in tokens:
        opened = perform(operation, world, as_=None, query={"token": token}, headers={"Lead-Token": token})
        assert opened.refusal == bare.refusal


@by_operation()
def test_record_tokens_are_not_credentials(operation: Operation, world: World) -> None:
    for token in (world.lead.token, world.organization.preview_token, f"atr_{world.lead.token}"):
        assert perform(operation, world, as_=token).code == "401 unauthenticated"


class TestAuthorizationHeader:
    @pytest.mark.parametrize(
        "form",
        [
            "{0}",
            "Bearer{0}",
            "Bearer:{0}",
            "Bearer={0}",
            "Bearer {0} {0}",
            "Bearer {0},{0}",
            "Bearer {0}, Bearer {0}",
            'Bearer "{0}"',
            "Bearer token={0}",
            "Token {0}",
            "ApiKey {0}",
            "Basic {0}",
            "Digest {0}",
            "DPoP {0}",
            "Bearer\u00a0{0}",
            "Bearer {0}\u200b",
            "Bearer\x00 {0}",
            "Bearer %20{0}",
            "Bearer {0};{0}",
            "Bearer {0}\\n",
        ],
    )
    def test_other_forms_are_rejected(self, form: str, world: World) -> None:
        for caller in (world.people.owner, world.api_key):
            sent = {"Authorization": form.format(caller.credential)}
            assert world.api.get("/organizations", headers=sent).code == "401 unauthenticated"

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
    def test_bearer_scheme_is_case_insensitive(self, scheme: str, world: World) -> None:
        for space in (" ", "  ", "\t"):
            sent = {"Authorization": f"{scheme} {space}{world.people.owner.credential} "}
            assert world.api.get("/organizations", headers=sent).status == 200

    def test_duplicate_header_counts_once(self, world: World) -> None:
        owner, outsider = world.people.owner.credential, world.people.outsider.credential
        for first, last in ((owner, outsider), (outsider, owner)):
            sent = {"authorization": f"Bearer {first}", "Authorization": f"Bearer {last}"}
            seen = {each["id"] for each in world.api.get("/organizations", headers=sent).json["items"]}
            assert seen in ({world.id}, {world.rivals.id})


class TestApiKey:
    @pytest.mark.parametrize(
        "prefix", ["ATR_", "Atr_", "atr-", "atr", "", "sk_", "_", "atr__", "\u0430tr_", "atr_atr_"]
    )
    def test_other_prefixes_are_rejected(self, prefix: str, world: World) -> None:
        secret = world.api_key.credential.removeprefix("atr_")
        answer = world.api.get("/organizations", headers={"Authorization": f"Bearer {prefix}{secret}"})
        assert answer.code == "401 unauthenticated"
        assert answer.calls.names == []

    def test_unknown_key_with_a_valid_checksum_is_rejected(self, world: World) -> None:
        for made_up in (api_key_format.generate_api_key() for _ in range(5)):
            assert world.api.get("/status", as_=made_up).code == "401 unauthenticated"

    def test_key_of_a_deleted_organization_loses_access(
        self, world: World, clock: Clock, workers: Workers
    ) -> None:
        key, owner = make_key(world.api, world.organization, "admin"), world.people.owner
        assert world.api.get(world.organization.path, as_=key).status == 200
        assert world.api.delete(world.organization.path, as_=owner).status == 204
        for path in (
            world.organization.path,
            world.platform.path,
            world.space.path,
            f"{world.organization.path}/api-keys",
        ):
            assert world.api.get(path, as_=key).code == "404 not_found"
        assert world.api.items("/organizations", as_=key) == []
        clock.shift(days=31)
        workers.settle()
        assert world.api.get("/status", as_=key).code == "401 unauthenticated"

    @pytest.mark.parametrize("held", ["api-keys:write", "api-keys:read", "write", "read"])
    def test_key_cannot_create_a_more_powerful_key(self, held: str, world: World) -> None:
        key = make_key(world.api, world.organization, held)
        for wanted in ("admin", "sites:write", "organizations:write", "audit-log:read"):
            refused = created_key(world.api, world.organization, wanted, as_=key)
            assert refused.status in (403, 422)
            assert refused.code in ("403 insufficient_scope", "422 validation_failed")
        strong = make_key(world.api, world.organization, "admin")
        path = f"{world.organization.path}/api-keys/{strong.id}"
        assert world.api.post(f"{path}/rotate", as_=key).code == "403 insufficient_scope"

    def test_key_cannot_change_scopes(self, world: World) -> None:
        key = make_key(world.api, world.organization, "api-keys:write")
        path = f"{world.organization.path}/api-keys/{key.id}"
        for method in ("PATCH", "PUT"):
            answer = world.api.request(method, path, as_=key, json={"scopes": ["admin"]})
            assert answer.code == "405 method_not_allowed"
        rotated = world.api.post(f"{path}/rotate", as_=key, json={"scopes": ["admin"]})
        assert rotated.faults == {"/scopes": "unknown_field"}


def test_credentials_are_not_logged(world: World, configure: Configure) -> None:
    configure(log_level="DEBUG")
    secret = world.people.owner.credential
    with written() as lines:
        for word in (secret, world.api_key.credential, secret[:-2], f"atr_{secret}"):
            world.api.get("/organizations", as_=word, query={"access_token": word}, headers={"User-Agent": word})
            world.api.get(f"/organizations/{word[:200]}", as_=word)
    text = json.dumps(lines)
    assert len(lines) == 8
    for word in (secret, world.api_key.credential):
        assert word[:24] not in text
        assert word[-24:] not in text
