"""`openapi.json` is generated from the operations, valid and complete, and its examples are correct."""

import inspect
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
from chalicelib.entrypoints.catalogue import all_operations, event_names, list_record_types
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.problems import CODES
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from tests.harness.generated_files import require_current_file

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
each_operation = pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.id)


def documentation_of(operation: Operation) -> dict[str, Any]:
    details: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return details


def test_the_committed_document_equals_the_generated_one():
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-m", "chalicelib.entrypoints.openapi"]
    generated = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    for document in (generated, openapi.document_to_indented_json(openapi.build_document())):
        require_current_file(ROOT / "openapi.json", document, "make openapi")


def test_the_document_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)


def test_the_document_has_exactly_the_operations():
    documented = [(path, method.upper()) for path, methods in DOCUMENT["paths"].items() for method in methods]
    assert sorted(documented) == sorted((o.path, o.method) for o in all_operations())


def test_server_urls_are_relative_so_that_a_stage_in_the_path_works():
    assert [server["url"] for server in DOCUMENT["servers"]] == ["."]


@each_operation
def test_an_operation_has_a_summary_access_rule_scope_and_events(operation):
    details = documentation_of(operation)
    assert details["operationId"] == operation.id
    assert details["tags"] == [operation.group]
    assert len(details["summary"]) > len("Get it")
    assert "`" not in details["summary"]
    assert details["x-atrium-access"] == operation.access_label
    assert details.get("x-atrium-scope") == operation.scope
    emitted = [details.get("x-atrium-event"), *details.get("x-atrium-other-events", [])]
    assert tuple(filter(None, emitted)) == operation.emits
    schemes = [name for alternative in details["security"] for name in alternative]
    shows_more_to_some = "principal_or_anonymous" in inspect.getsource(operation.function)
    is_for_links = operation.access is Caller.LINK
    takes_credentials = not is_for_links and (not operation.allows_anonymous or shows_more_to_some)
    assert ("linkToken" in schemes) == bool(operation.link_types)
    assert ("userToken" in schemes) == takes_credentials
    admits_keys = operation.scope is not None or operation.access_label == "principal"
    admits_keys = operation.allows_api_keys if operation.allows_anonymous else admits_keys
    assert ("apiKey" in schemes) == (takes_credentials and admits_keys)
    is_optional = operation.allows_anonymous or operation.access_label.startswith("published|")
    assert ({} in details["security"]) == (takes_credentials and is_optional)


@each_operation
def test_an_operation_documents_its_parameters(operation):
    parameters = [_resolve(p) for p in documentation_of(operation)["parameters"]]
    by_location = {
        location: [p["name"] for p in parameters if p["in"] == location] for location in ("path", "query", "header")
    }
    assert by_location["path"] == re.findall(r"{(\w+)}", operation.path)
    assert all(p["required"] and p["schema"]["type"] == "string" for p in parameters if p["in"] == "path")
    fields = operation.query_model.model_fields.values() if operation.query_model else []
    assert by_location["query"] == [field.alias for field in fields]
    assert "API-Version" in by_location["header"]
    assert ("Idempotency-Key" in by_location["header"]) == (operation.method == "POST")
    if operation.method in ("PATCH", "PUT", "DELETE"):
        assert "If-Match" in by_location["header"]


@each_operation
def test_an_operation_documents_its_responses(operation):
    responses = {status: _resolve(r) for status, r in documentation_of(operation)["responses"].items()}
    assert str(operation.success) in responses
    assert {"401", "403", "500", "503"} <= set(responses)
    for status, response in responses.items():
        assert {"API-Version", "X-Request-Id"} <= set(response["headers"]), status
        assert ("application/problem+json" in response.get("content", {})) == (status >= "400")
    success = responses[str(operation.success)]
    assert ("content" in success) == (operation.success != 204)
    assert ("Location" in success["headers"]) == operation.has_location
    assert ("Link" in success["headers"]) == operation.is_list


@pytest.mark.parametrize(
    "noun", ["invitations", "export", "webhooks", "channels", "platforms", "spaces", "sites", "taxonomy", "research"]
)
def test_the_introduction_mentions_only_features_that_exist(noun):
    texts = [
        DOCUMENT["info"]["description"],
        *(tag["description"] for tag in DOCUMENT["tags"] if tag["name"] != "events"),
    ]
    assert any(noun in path for path in DOCUMENT["paths"]) or not any(noun in text.lower() for text in texts)


def test_the_example_body_of_a_creation_can_be_sent_repeatedly():
    body = DOCUMENT["paths"]["/organizations"]["post"]["requestBody"]["content"]["application/json"]
    assert "slug" not in body["example"]


@each_operation
def test_the_example_body_is_accepted(operation):
    content = documentation_of(operation).get("requestBody", {}).get("content", {})
    assert bool(content) == (operation.body_model is not None)
    merge_patch_types = {"application/merge-patch+json"} if operation.method == "PATCH" else set()
    form_types = {"application/x-www-form-urlencoded", "multipart/form-data"} if operation.accepts_form else set()
    if operation.body_model:
        assert set(content) == {"application/json"} | merge_patch_types | form_types
        operation.body_model.model_validate_json(json.dumps(content["application/json"]["example"]))


EMPTY_EXAMPLES: Final = {
    "publish_page": {"": "An empty body publishes the draft, which is what an editor usually means."},
}
"""The empty lists and objects in the example bodies of operations, each with the reason."""


@each_operation
def test_the_example_body_has_no_empty_lists_and_objects(operation):
    for content in documentation_of(operation).get("requestBody", {}).get("content", {}).values():
        assert [*_pointers_of_empty_values(content["example"])] == [*EMPTY_EXAMPLES.get(operation.id, ())]


def _pointers_of_empty_values(value: Any, pointer: str = "") -> Iterator[str]:
    if value in ([], {}):
        yield pointer
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from _pointers_of_empty_values(member, f"{pointer}/{name}")


def test_every_example_matches_its_schema():
    example_count = 0
    for pointer, media in _media_types(DOCUMENT):
        named = [example["value"] for example in media.get("examples", {}).values()]
        examples = [media["example"]] if "example" in media else named
        # Linters would take the example of an event type for a schema, so its fields have examples instead.
        assert examples or "event-types" in pointer or "event_type" in pointer, pointer
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]}
        validator = Draft202012Validator(schema | media["schema"], format_checker=Draft202012Validator.FORMAT_CHECKER)
        for example in examples:
            assert [error.message for error in validator.iter_errors(example)] == [], pointer
            example_count += 1
    assert example_count > len(all_operations())


SERVICE_EVENTS: Final = {
    "organization.audit_export.completed": "AuditExport",
    "organization.audit_export.failed": "AuditExport",
    "organization.invitation.expired": "Invitation",
    "organization.purged": "Organization",
    "organization.reconciliation.completed": "Reconciliation",
    "organization.reconciliation.failed": "Reconciliation",
    "organization.webhook.delivery_exhausted": "Delivery",
    "organization.log_stream.disabled": "LogStream",
    "organization.webhook.disabled": "Webhook",
    "platform.custom_domain.failed": "CustomDomain",
    "platform.invitation.expired": "Invitation",
    "system.dead_letter_redrive.completed": "Redrive",
    "system.dead_letter_redrive.failed": "Redrive",
    "system.log_verification.completed": "LogVerification",
    "system.log_verification.failed": "LogVerification",
    **{
        f"research.{work}.{status}": "ResearchJob"
        for work in ("backfill", "import", "reconcile")
        for status in ("completed", "failed")
    },
}
"""Events that no request emits, only the service itself, with the type of their subject."""

OPERATOR_EVENTS: Final = ("organization.record.absence_accepted", "organization.record.accepted")
"""Events that commands of operators emit, about records of any type."""


def test_every_event_is_a_webhook():
    emitted = {event for operation in all_operations() for event in operation.emits}
    assert set(DOCUMENT["webhooks"]) == emitted | {*SERVICE_EVENTS, *OPERATOR_EVENTS} == set(event_names())
    for event, methods in DOCUMENT["webhooks"].items():
        schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["type"] == {"const": event}
        assert sorted(schema["required"]) == [
            *("actor", "changes", "data", "organizationId", "sequence", "timestamp", "type")
        ]


@pytest.mark.parametrize(("event", "record"), SERVICE_EVENTS.items())
def test_an_event_of_the_service_has_a_webhook_with_its_record(event, record):
    message = DOCUMENT["webhooks"][event]["post"]
    assert message["summary"] == "By the service itself"
    schema = message["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["data"] == {"$ref": f"#/components/schemas/{record}"}


@pytest.mark.parametrize("event", OPERATOR_EVENTS)
def test_an_event_of_an_operator_has_a_webhook_with_any_record(event):
    message = DOCUMENT["webhooks"][event]["post"]
    assert message["summary"] == "By an operator"
    data = message["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"]
    assert (data["required"], data["additionalProperties"]) == (["id"], True)


# In other suites, `conformance.check_event` compares the states of the other examples with entries.
@pytest.mark.parametrize(
    ("event", "status"),
    [
        *(("restored", "active"), ("invitation.declined", "declined")),
        *(("audit_export.failed", "failed"), ("audit_export.downloaded", "completed")),
    ],
)
def test_the_example_of_an_event_has_the_status_after_the_event(event, status):
    assert _example_data(f"organization.{event}")["status"] == status


def test_the_example_of_an_event_contains_no_one_time_secrets():
    models = [kind.output_model for kind in list_record_types() if kind.output_model]
    secret_fields = {"downloadUrl", *(to_camel(name) for model in models for name in model.secret_fields)}
    examples = [_example_data(event) for event in DOCUMENT["webhooks"]]
    values = [(name, data[name]) for data in examples for name in secret_fields & data.keys()]
    assert set(values) == {(name, None) for name in ("acceptUrl", "downloadUrl", "key", "secret")}
    assert "Signature" not in json.dumps(DOCUMENT["webhooks"])


def test_the_example_of_an_event_shows_the_progress_of_work():
    results = ("entryCount", "sizeBytes", "sha256", "evidence", "expiresAt")
    for action, shown in (("requested", ()), ("completed", results), ("failed", ("error",))):
        data = _example_data(f"organization.audit_export.{action}")
        assert tuple(name for name in (*results, "error") if data[name] is not None) == shown, action
    erased = _example_data("organization.person_erased")
    assert (erased["erasedRecords"], erased["erasedEntries"]) == (0, 0)
    for event in ("deleted", "purged"):
        deleted = _example_data(f"organization.{event}")
        assert deleted["deletionDueAt"] > deleted["updatedAt"]


def test_sequences_start_at_1():
    for message in DOCUMENT["webhooks"].values():
        schema = message["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert (schema["properties"]["sequence"]["minimum"], _example_message(message["post"])["sequence"]) == (1, 1)


def test_an_event_of_a_request_and_of_the_service_names_both():
    message = DOCUMENT["webhooks"]["organization.invitation.revoked"]["post"]
    assert message["summary"] == "After revoke_invitation, or by the service itself"


def test_every_problem_has_an_example_at_its_status():
    contents = [
        response["content"]["application/problem+json"] for response in DOCUMENT["components"]["responses"].values()
    ]
    examples = [(code, example["value"]) for content in contents for code, example in content["examples"].items()]
    # No operation has status 405: it is for methods that a path does not have.
    assert sorted([*(code for code, _ in examples), "method_not_allowed"]) == sorted(CODES)
    assert all((value["code"], value["status"]) == (code, CODES[code][0]) for code, value in examples)


def test_the_example_checkpoint_is_signed_with_the_example_key():
    key = _example_response("/status")["auditPublicKey"]
    report = _example_response("/organizations/{organization_id}/audit-log/verify-integrity")
    checkpoint = checkpoints.verify_checkpoint_note(report["checkpoint"], [from_base64(key)])
    assert (checkpoint.size, checkpoint.root.hex()) == (report["treeSize"], report["rootHash"])
    assert checkpoint.origin == f"atrium/{_example_response('/organizations/{organization_id}')['id']}"


def test_a_secret_is_only_in_the_response_that_creates_it():
    keys = "/organizations/{organization_id}/api-keys"
    assert api_key_format.is_well_formed(_example_response(keys, "post", "201")["key"])
    assert _example_response(keys + "/{api_key_id}")["key"] is None


def test_examples_of_background_work_are_queued_at_first_and_completed_later():
    exports_path = "/organizations/{organization_id}/audit-log/export-async"
    for path, record in (
        (exports_path, "/{export_id}"),
        ("/organizations/{organization_id}/erasures", "/{erasure_id}"),
    ):
        queued, completed = _example_response(path, "post", "202"), _example_response(path + record)
        assert (queued["status"], completed["status"]) == ("queued", "completed")
        assert queued.keys() == completed.keys()
    export = _example_response(exports_path, "post", "202")
    request = DOCUMENT["paths"][exports_path]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert export["filters"] == {"actorId": None, "targetId": None, "from": None, "to": None, **request["filters"]}
    null_fields = ("entryCount", "sizeBytes", "sha256", "checkpoint", "evidence", "downloadUrl", "error", "expiresAt")
    assert {export[name] for name in null_fields} == {None}


def test_the_example_of_an_acceptance_has_an_organization_and_no_platform():
    for method in ("get", "post"):
        response = _example_response("/organizations/invitations/acceptance", method)
        assert (response["organization"] is None, response["platform"]) == (False, None)
        assert (response["status"], response["membership"]["email"]) == ("accepted", response["email"])


def test_the_description_of_organizations_mentions_their_records():
    (description,) = (tag["description"] for tag in DOCUMENT["tags"] if tag["name"] == "organizations")
    assert all(
        noun in description for noun in ("members", "invitations", "API keys", "audit log", "exports", "erasure")
    )


def test_schema_names_have_no_internal_suffixes():
    schemas = DOCUMENT["components"]["schemas"]
    assert {"Organization", "OrganizationCreate", "OrganizationPatch", "OrganizationList", "Problem"} <= set(schemas)
    assert not [name for name in schemas if name.endswith(("Out", "Output")) or "__" in name]


def test_every_schema_is_used():
    text = json.dumps(DOCUMENT)
    unused = [name for name in DOCUMENT["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_a_patch_has_no_required_fields():
    bodies = {o.body_model.__name__ for o in all_operations() if o.body_model and issubclass(o.body_model, Patch)}
    assert bodies
    assert not [name for name in bodies if "required" in DOCUMENT["components"]["schemas"][name]]


def _resolve(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    target: Any = DOCUMENT
    for step in part["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return dict(target)


def _example_data(event: str) -> dict[str, Any]:
    """Return the data in the example of an event."""
    return dict(_example_message(DOCUMENT["webhooks"][event]["post"])["data"])


def _example_message(message: dict[str, Any]) -> dict[str, Any]:
    """Return the example of a webhook's message. One with an event type is beside the content, because of linters."""
    example = message["requestBody"]["content"]["application/json"].get("example")
    return dict(example or message["x-atrium-example"])


def _example_response(path: str, method: str = "get", status: str = "200") -> dict[str, Any]:
    content = DOCUMENT["paths"][path][method]["responses"][status]["content"]
    return dict(content["application/json"]["example"])


def _media_types(part: Any, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and content of every media type object of the document."""
    if isinstance(part, list):
        for position, element in enumerate(part):
            yield from _media_types(element, f"{pointer}/{position}")
    elif isinstance(part, dict):
        for name, element in part.items():
            if name == "content":
                yield from ((f"{pointer}/{media_type}", media) for media_type, media in element.items())
            elif name not in ("example", "examples"):
                yield from _media_types(element, f"{pointer}/{name}")
