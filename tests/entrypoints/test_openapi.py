"""What `openapi.json` promises: it is the operations', valid, complete, and its examples hold."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from pydantic.alias_generators import to_camel

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import events, operations, record_kinds
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.problems import CODES
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.operation import Operation

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
by_id = pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.id)


def described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return found


def test_the_committed_document_is_what_the_operations_say() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-m", "chalicelib.entrypoints.openapi"]
    generated = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    assert (ROOT / "openapi.json").read_text() == generated, "run `make openapi`, and look at what changed"
    assert openapi.as_text(openapi.document()) == generated


def test_the_served_document_is_the_committed_one() -> None:
    served = ROOT / "chalicelib/entrypoints/docs/openapi.json"
    assert served.read_bytes() == (ROOT / "openapi.json").read_bytes()


def test_the_document_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)


def test_the_document_has_every_operation_and_no_other() -> None:
    documented = [(path, method.upper()) for path, methods in DOCUMENT["paths"].items() for method in methods]
    assert sorted(documented) == sorted((o.path, o.method) for o in operations())
    ids = [details["operationId"] for methods in DOCUMENT["paths"].values() for details in methods.values()]
    assert len(set(ids)) == len(ids)


def test_servers_are_relative_so_that_a_stage_prefix_holds() -> None:
    assert [server["url"] for server in DOCUMENT["servers"]] == ["."]


@by_id
def test_an_operation_says_what_it_is_for_and_who_may_call_it(operation: Operation) -> None:
    details = described(operation)
    assert details["operationId"] == operation.id
    assert details["tags"] == [operation.group]
    assert len(details["summary"]) > len("Get it")
    assert details["x-atrium-access"] == operation.access_label
    assert details.get("x-atrium-scope") == operation.scope
    emitted = [details.get("x-atrium-event"), *details.get("x-atrium-other-events", [])]
    assert tuple(filter(None, emitted)) == operation.emits
    schemes = [name for alternative in details["security"] for name in alternative]
    assert ("userToken" in schemes) == (not operation.allows_anonymous)
    assert ("apiKey" in schemes) == (not operation.allows_anonymous and operation.scope is not None)


@by_id
def test_an_operation_documents_its_parameters(operation: Operation) -> None:
    parameters = [_resolved(p) for p in described(operation)["parameters"]]
    by_place = {place: [p["name"] for p in parameters if p["in"] == place] for place in ("path", "query", "header")}
    assert by_place["path"] == re.findall(r"{(\w+)}", operation.path)
    assert all(p["required"] and p["schema"]["type"] == "string" for p in parameters if p["in"] == "path")
    fields = operation.query.model_fields.values() if operation.query else []
    assert by_place["query"] == [field.alias for field in fields]
    assert "API-Version" in by_place["header"]
    assert ("Idempotency-Key" in by_place["header"]) == (operation.method == "POST")
    if operation.method in ("PATCH", "PUT", "DELETE"):
        assert "If-Match" in by_place["header"]


@by_id
def test_an_operation_documents_its_answers(operation: Operation) -> None:
    responses = {status: _resolved(r) for status, r in described(operation)["responses"].items()}
    assert str(operation.success) in responses
    assert {"401", "403", "500", "503"} <= set(responses)
    for status, response in responses.items():
        assert {"API-Version", "X-Request-Id"} <= set(response["headers"]), status
        assert ("application/problem+json" in response.get("content", {})) == (status >= "400")
    success = responses[str(operation.success)]
    assert ("content" in success) == (operation.success != 204)
    assert ("Location" in success["headers"]) == operation.creates
    assert ("Link" in success["headers"]) == operation.is_list


@by_id
def test_a_summary_is_plain_text(operation: Operation) -> None:
    summary = described(operation)["summary"]
    assert summary
    assert "`" not in summary


@pytest.mark.parametrize(
    "noun", ["invitations", "export", "webhooks", "channels", "platforms", "spaces", "sites", "taxonomy", "research"]
)
def test_the_introduction_speaks_of_what_is_there(noun: str) -> None:
    texts = [
        DOCUMENT["info"]["description"],
        *(tag["description"] for tag in DOCUMENT["tags"] if tag["name"] != "events"),
    ]
    assert any(noun in path for path in DOCUMENT["paths"]) or not any(noun in text.lower() for text in texts)


def test_the_example_of_a_creation_can_be_sent_twice() -> None:
    body = DOCUMENT["paths"]["/organizations"]["post"]["requestBody"]["content"]["application/json"]
    assert "slug" not in body["example"]


@by_id
def test_the_example_of_a_body_is_accepted(operation: Operation) -> None:
    content = described(operation).get("requestBody", {}).get("content", {})
    assert bool(content) == (operation.body is not None)
    merged = {"application/merge-patch+json"} if operation.method == "PATCH" else set()
    forms = {"application/x-www-form-urlencoded", "multipart/form-data"} if operation.accepts_form else set()
    if operation.body:
        assert set(content) == {"application/json"} | merged | forms
        operation.body.model_validate_json(json.dumps(content["application/json"]["example"]))


def test_every_example_satisfies_its_schema() -> None:
    checked = 0
    for where, media in _media(DOCUMENT):
        examples = [media["example"]] if "example" in media else [e["value"] for e in media["examples"].values()]
        assert examples, where
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]}
        validator = Draft202012Validator(schema | media["schema"], format_checker=Draft202012Validator.FORMAT_CHECKER)
        for example in examples:
            assert [error.message for error in validator.iter_errors(example)] == [], where
            checked += 1
    assert checked > len(operations())


ENDS: Final = ("accepted", "declined", "expired", "revoked")
"""How an invitation can end."""

BY_ITSELF: Final = {
    "organization.audit_export.completed": "AuditExport",
    "organization.audit_export.failed": "AuditExport",
    "organization.invitation.expired": "Invitation",
    "organization.purged": "Organization",
    "organization.webhook.delivery_exhausted": "Delivery",
    "organization.webhook.disabled": "Webhook",
    "platform.custom_domain.failed": "CustomDomain",
    "platform.invitation.expired": "Invitation",
    **{
        f"research.{work}.{end}": "ResearchJob"
        for work in ("backfill", "import", "reconcile")
        for end in ("completed", "failed")
    },
}
"""Events that only the service itself can make happen, and the record that each tells of."""


def test_every_event_is_a_webhook() -> None:
    emitted = {event for operation in operations() for event in operation.emits}
    assert set(DOCUMENT["webhooks"]) == emitted | set(BY_ITSELF) == set(events())
    for event, methods in DOCUMENT["webhooks"].items():
        schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["type"] == {"const": event}
        assert sorted(schema["required"]) == ["data", "organizationId", "sequence", "timestamp", "type"]


@pytest.mark.parametrize(("event", "record"), BY_ITSELF.items())
def test_an_event_of_the_service_itself_is_a_webhook_of_its_record(event: str, record: str) -> None:
    message = DOCUMENT["webhooks"][event]["post"]
    assert message["summary"] == "By the service itself"
    schema = message["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["data"] == {"$ref": f"#/components/schemas/{record}"}


def test_the_example_of_an_event_shows_the_record_as_it_is_then() -> None:
    statuses = {event: _told(event).get("status") for event in DOCUMENT["webhooks"]}
    named = ("audit_export.completed", "audit_export.failed", *(f"invitation.{word}" for word in ENDS))
    assert {event: statuses[f"organization.{event}"] for event in named} == {e: e.rpartition(".")[2] for e in named}
    others = {
        "created": "active",
        "updated": "active",
        "restored": "active",
        "ownership_transferred": "active",
        "deleted": "pending_deletion",
        "purged": "pending_deletion",
        "invitation.created": "pending",
        "invitation.resent": "pending",
        "api_key.created": "active",
        "api_key.rotated": "active",
        "api_key.revoked": "revoked",
        "audit_export.requested": "queued",
        "audit_export.downloaded": "completed",
        "person_erased": "queued",
    }
    assert {event: statuses[f"organization.{event}"] for event in others} == others


def test_the_example_of_an_event_shows_nothing_that_is_only_for_one_answer() -> None:
    secret = {
        to_camel(name) for kind in record_kinds() if kind.output_model for name in kind.output_model.secret_fields
    }
    shown = {name for event in DOCUMENT["webhooks"] for name in _told(event) if name in {*secret, "downloadUrl"}}
    assert shown == {"acceptUrl", "downloadUrl", "key", "secret"}
    assert not [(e, n) for e in DOCUMENT["webhooks"] for n in shown if _told(e).get(n) is not None]
    assert "Signature" not in json.dumps(DOCUMENT["webhooks"])


def test_the_example_of_an_event_tells_how_far_work_is() -> None:
    file = ("entryCount", "sizeBytes", "sha256", "evidence", "expiresAt")
    by_event = {word: _told(f"organization.audit_export.{word}") for word in ("requested", "completed", "failed")}
    assert {word: {data[name] is None for name in file} for word, data in by_event.items()} == {
        "requested": {True},
        "completed": {False},
        "failed": {True},
    }
    assert {word: bool(data["error"]) for word, data in by_event.items()} == {
        "requested": False,
        "completed": False,
        "failed": True,
    }
    erased = _told("organization.person_erased")
    assert (erased["erasedRecords"], erased["erasedEntries"]) == (0, 0)
    for event in ("deleted", "purged"):
        deleted = _told(f"organization.{event}")
        assert deleted["deletionDueAt"] > deleted["updatedAt"]


def test_logs_begin_at_1() -> None:
    for message in DOCUMENT["webhooks"].values():
        content = message["post"]["requestBody"]["content"]["application/json"]
        assert (content["schema"]["properties"]["sequence"]["minimum"], content["example"]["sequence"]) == (1, 1)


def test_an_event_that_requests_and_the_service_make_happen_names_both() -> None:
    message = DOCUMENT["webhooks"]["organization.invitation.revoked"]["post"]
    assert message["summary"] == "After revoke_invitation, or by the service itself"


def test_every_problem_is_an_example_of_its_status() -> None:
    for response in DOCUMENT["components"]["responses"].values():
        for code, example in response["content"]["application/problem+json"]["examples"].items():
            assert example["value"]["code"] == code
            assert example["value"]["status"] == CODES[code][0]
    documented = [
        code
        for response in DOCUMENT["components"]["responses"].values()
        for code in response["content"]["application/problem+json"]["examples"]
    ]
    assert sorted(documented) == sorted(CODES)


def test_the_example_of_a_checkpoint_is_signed_by_the_example_of_the_key() -> None:
    key = _example("/status")["auditPublicKey"]
    report = _example("/organizations/{organization_id}/audit-log/verify-integrity")
    checkpoint = checkpoints.verify(report["checkpoint"], [from_base64(key)])
    assert (checkpoint.size, checkpoint.root.hex()) == (report["treeSize"], report["rootHash"])
    assert checkpoint.origin == f"atrium/{_example('/organizations/{organization_id}')['id']}"


def test_a_secret_is_in_the_answers_that_make_it_and_nowhere_else() -> None:
    keys = "/organizations/{organization_id}/api-keys"
    assert api_key_format.is_well_formed(_example(keys, "post", "201")["key"])
    assert _example(keys + "/{api_key_id}")["key"] is None


def test_work_that_is_begun_is_queued_and_is_asked_for_until_it_is_completed() -> None:
    log = "/organizations/{organization_id}/audit-log/export-async"
    for path, record in ((log, "/{export_id}"), ("/organizations/{organization_id}/erasures", "/{erasure_id}")):
        begun, later = _example(path, "post", "202"), _example(path + record)
        assert (begun["status"], later["status"]) == ("queued", "completed")
        assert begun.keys() == later.keys()
    export = _example(log, "post", "202")
    asked = DOCUMENT["paths"][log]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert export["filters"] == {"actorId": None, "targetId": None, "from": None, "to": None, **asked["filters"]}
    unknown = ("entryCount", "sizeBytes", "sha256", "checkpoint", "evidence", "downloadUrl", "error", "expiresAt")
    assert {export[name] for name in unknown} == {None}


def test_the_example_of_an_acceptance_leads_to_one_place() -> None:
    for method in ("get", "post"):
        answer = _example("/organizations/invitations/acceptance", method)
        assert (answer["organization"] is None, answer["platform"]) == (False, None)
        assert (answer["status"], answer["membership"]["email"]) == ("accepted", answer["email"])


def test_the_organizations_are_introduced_by_all_that_is_theirs() -> None:
    (introduced,) = (tag["description"] for tag in DOCUMENT["tags"] if tag["name"] == "organizations")
    assert all(noun in introduced for noun in ("members", "invitations", "API keys", "audit log", "exports", "erasure"))


def test_schemas_have_the_names_callers_know() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert {"Organization", "OrganizationCreate", "OrganizationPatch", "OrganizationList", "Problem"} <= set(schemas)
    assert not [name for name in schemas if name.endswith(("Out", "Output")) or "__" in name]


def test_no_schema_is_without_use() -> None:
    text = json.dumps(DOCUMENT)
    unused = [name for name in DOCUMENT["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_a_patch_requires_nothing() -> None:
    bodies = {o.body.__name__ for o in operations() if o.body and issubclass(o.body, Patch)}
    assert bodies
    assert not [name for name in bodies if "required" in DOCUMENT["components"]["schemas"][name]]


def _resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = DOCUMENT
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def _told(event: str) -> dict[str, Any]:
    """The data of the example of an event."""
    content = DOCUMENT["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]
    return dict(content["example"]["data"])


def _example(path: str, method: str = "get", status: str = "200") -> dict[str, Any]:
    content = DOCUMENT["paths"][path][method]["responses"][status]["content"]
    return dict(content["application/json"]["example"])


def _media(part: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every media type object of the document: what a request or a response can hold."""
    if isinstance(part, list):
        for position, element in enumerate(part):
            yield from _media(element, f"{where}/{position}")
    elif isinstance(part, dict):
        for name, element in part.items():
            if name == "content":
                yield from ((f"{where}/{kind}", media) for kind, media in element.items())
            elif name not in ("example", "examples"):
                yield from _media(element, f"{where}/{name}")
