"""API keys: creation, rotation, revocation and expiry. No key gets scopes that its creator does not have."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.model.actions import action, names, record_index
from tests.model.interface_operations import expand_scopes
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Caller, Json, ModelRecord

_DAY = 24 * 3600
scopes = st.sampled_from(
    [
        ["read"],
        ["write"],
        ["admin"],
        ["read", "sites:write"],
        ["members:write"],
        ["spaces:read", "taxonomy:write"],
        ["webhooks:write", "audit-log:read"],
        ["api-keys:write"],
    ]
)


@action(place=record_index, name=names, scopes=scopes, days=st.none() | st.sampled_from([1, 40]))
def create_api_key(
    run: ModelRun, by: Sender, organization: ModelRecord, name: str, scopes: list[str], days: int | None
) -> None:
    parent, expires_at_seconds = (
        run.resolve_caller(by.caller_name)[0].key,
        run.elapsed_seconds + days * _DAY if days else None,
    )
    refusal = (
        "403 insufficient_scope"
        if _exceeds_caller_scopes(run, by, scopes)
        else _expiry_refusal(parent, expires_at_seconds, inherits=True)
    )
    expires = after(now(), days=days) if days else None
    body = {"name": name, "scopes": scopes, "expiresAt": expires}
    if response := run.request(by, "create_api_key", organization, body=body, refusal=refusal):
        expected = {
            **body,
            "status": "active",
            "createdBy": run.resolve_caller(by.caller_name)[0].id,
            "lastUsedAt": None,
        }
        if parent and not days:
            expected["expiresAt"], expires_at_seconds = (
                parent.fields["expiresAt"],
                parent.internal["expires_at_seconds"],
            )
        created = run.add_created_record("api_key", response, organization, expected, "key")
        created.internal["expires_at_seconds"], created.internal["issuer_chain"] = (
            expires_at_seconds,
            _issuer_chain(run.resolve_caller(by.caller_name)[0]),
        )
        run.expect_entry(by, "create_api_key", created)


def _issuer_chain(caller: Caller) -> list[str]:
    return [*caller.key.internal["issuer_chain"], caller.id] if caller.key else [caller.id]


def _expiry_refusal(issuing_key: ModelRecord | None, expires_at_seconds: float | None, *, inherits: bool) -> str | None:
    """Return the refusal of a key that would expire later than the key that creates or rotates it."""
    if (
        issuing_key is None
        or issuing_key.internal["expires_at_seconds"] is None
        or (expires_at_seconds is None and inherits)
    ):
        return None
    return (
        "403 forbidden"
        if expires_at_seconds is None or expires_at_seconds > issuing_key.internal["expires_at_seconds"]
        else None
    )


def revoke_dependent_keys(
    organization: ModelRecord, keys: list[ModelRecord], cause: str, reason: str, allowed_scopes: set[str]
) -> list[Json] | None:
    """Revoke the keys that a principal issued and that exceed the allowed scopes, and the keys that these issued.

    Returns them as the entry and the response list them, in order of their creation.
    """
    keys = [
        key for key in keys if key.container is organization and key.fields["status"] == "active" and key.id != cause
    ]
    reasons = {
        key.id: (reason, cause)
        for key in keys
        if cause in key.internal["issuer_chain"] and not {*key.fields["scopes"]} <= allowed_scopes
    }
    while indirect_reasons := {
        key.id: (
            "parent_revoked",
            next(ancestor_id for ancestor_id in key.internal["issuer_chain"] if ancestor_id in reasons),
        )
        for key in keys
        if key.id not in reasons and {*reasons} & {*key.internal["issuer_chain"]}
    }:
        reasons |= indirect_reasons
    revoked_keys = [key for key in keys if key.id in reasons]
    for key in revoked_keys:
        key.internal["is_revoked"], key.has_unseen_version, (reason_code, cause_id) = True, True, reasons[key.id]
        key.fields |= {"status": "revoked", "revokedBecause": {"reason": reason_code, "id": cause_id}}
    return [{"id": key.id, "name": key.fields["name"]} for key in revoked_keys] or None


def _exceeds_caller_scopes(run: ModelRun, by: Sender, scopes: list[str]) -> bool:
    key = run.resolve_caller(by.caller_name)[0].key
    if key is None or "admin" in key.fields["scopes"]:
        return False
    return not {*scopes} <= expand_scopes(key.fields["scopes"])


@action(weight=1, key=record_index)
def revoke_api_key(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "revoke_api_key", record.parent, record) and not record.internal.get("is_revoked"):
        record.internal["is_revoked"] = True
        record.fields["status"], record.has_unseen_version = "revoked", True
        keys = run.model.list_existing("api_key")
        revoked_keys = revoke_dependent_keys(record.parent, keys, record.id, "parent_revoked", set())
        record.fields["revokedKeys"] = revoked_keys
        run.expect_entry(by, "revoke_api_key", record)
        record.fields["revokedKeys"] = None


@action(key=record_index, hours=st.sampled_from([0, 24]))
def rotate_api_key(run: ModelRun, by: Sender, record: ModelRecord, hours: int) -> None:
    refusal = None
    if record.fields["status"] != "active":
        refusal = "409 invalid_transition"
    elif _exceeds_caller_scopes(run, by, record.fields["scopes"]):
        refusal = "403 insufficient_scope"
    elif by.caller_name != record.id and _expiry_refusal(
        run.resolve_caller(by.caller_name)[0].key, record.internal["expires_at_seconds"], inherits=False
    ):
        refusal = "403 forbidden"
    elif hours and record.internal.get("rotation_count", 0) >= _MAX_SECRETS - 1:
        return
    response = run.request(by, "rotate_api_key", record.parent, record, {"graceHours": hours}, refusal=refusal)
    if response:
        record.internal["rotation_count"] = record.internal.get("rotation_count", 0) + 1
        former_secret, caller = record.internal["key"], run.resolve_caller(by.caller_name)[0]
        if caller.id != record.id:
            record.internal["issuer_chain"] = [
                *dict.fromkeys([*record.internal["issuer_chain"], *_issuer_chain(caller)])
            ]
        last_used = {"lastUsedAt": response.json["lastUsedAt"]}
        run.apply_change(record, response, {"hint": response.json["hint"], **last_used}, key=True)
        assert record.internal["key"] != former_secret
        path = record.parent.path
        assert (run.api.get(path, caller=former_secret).status == 401) == (hours == 0)
        run.expect_entry(by, "rotate_api_key", record)


_MAX_SECRETS = 5


@action(place=record_index)
def list_api_keys(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_api_keys", organization, query={"limit": 100}):
        keys = run.model.list_existing("api_key", organization)
        assert [(item["id"], item["status"], item["scopes"], item["key"]) for item in response.json["items"]] == [
            (key.id, key.fields["status"], key.fields["scopes"], None) for key in keys
        ]
