"""API keys: creation, rotation, revocation and expiry. No key gets scopes that its creator does not have."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.model.actions import action, names, record_index
from tests.model.interface_operations import expand_scopes
from tests.model.model_run import DAY_SECONDS, ModelRun, Sender
from tests.model.service_model import Caller, Json, ModelRecord

_MAX_SECRETS = 5
_SCOPES = (
    *(["read"], ["write"], ["admin"], ["read", "sites:write"], ["members:write"], ["spaces:read", "taxonomy:write"]),
    *(["webhooks:write", "audit-log:read"], ["api-keys:write"], ["events:write"], ["read", "log-streams:write"]),
)


@action(place=record_index, name=names, scopes=st.sampled_from([*_SCOPES]), days=st.none() | st.sampled_from([1, 40]))
def create_api_key(
    run: ModelRun, by: Sender, organization: ModelRecord, name: str, scopes: list[str], days: int | None
) -> None:
    caller = run.caller_of(by)
    body = {"name": name, "scopes": scopes, "expiresAt": after(now(), days=days) if days else None}
    expected = {**body, "status": "active", "createdBy": caller.id, "lastUsedAt": None}
    expires_at_seconds = run.elapsed_seconds + days * DAY_SECONDS if days else None
    if caller.key and not days:
        expected["expiresAt"] = caller.key.fields["expiresAt"]
        expires_at_seconds = caller.key.internal["expires_at_seconds"]
    refusal = _scope_refusal(caller, scopes) or _expiry_refusal(caller, expires_at_seconds)
    created = run.create(by, "create_api_key", "api_key", organization, body, expected, "key", refusal=refusal)
    if created:
        created.internal |= {"expires_at_seconds": expires_at_seconds, "issuer_chain": _issuer_chain(caller)}


def _issuer_chain(caller: Caller) -> list[str]:
    return [*caller.key.internal["issuer_chain"], caller.id] if caller.key else [caller.id]


def _expiry_refusal(issuer: Caller, expires_at_seconds: float | None) -> str | None:
    """Return the refusal of a key that would expire later than the key that creates or rotates it."""
    latest_seconds = issuer.key.internal["expires_at_seconds"] if issuer.key else None
    is_later = expires_at_seconds is None or (latest_seconds is not None and expires_at_seconds > latest_seconds)
    return "403 forbidden" if latest_seconds is not None and is_later else None


def _scope_refusal(issuer: Caller, scopes: list[str]) -> str | None:
    own_scopes = issuer.key.fields["scopes"] if issuer.key else ["admin"]
    return None if "admin" in own_scopes or {*scopes} <= expand_scopes(own_scopes) else "403 insufficient_scope"


def revoke_dependent_keys(
    organization: ModelRecord, keys: list[ModelRecord], cause: str, reason: str, allowed_scopes: set[str]
) -> list[Json] | None:
    """Revoke the keys that a principal issued and that exceed the allowed scopes, and the keys that these issued.

    Returns them as the response lists them, in order of their creation.
    """
    keys = [k for k in keys if k.container is organization and k.fields["status"] == "active" and k.id != cause]
    chains = {key.id: key.internal["issuer_chain"] for key in keys}
    reasons = {
        key.id: (reason, cause)
        for key in keys
        if cause in chains[key.id] and not {*key.fields["scopes"]} <= allowed_scopes
    }
    while indirect_reasons := {
        key_id: ("parent_revoked", next(ancestor_id for ancestor_id in chain if ancestor_id in reasons))
        for key_id, chain in chains.items()
        if key_id not in reasons and {*reasons} & {*chain}
    }:
        reasons |= indirect_reasons
    revoked_keys = [key for key in keys if key.id in reasons]
    for key in revoked_keys:
        key.internal["is_revoked"], key.has_unseen_version, (reason_code, cause_id) = True, True, reasons[key.id]
        key.fields |= {"status": "revoked", "revokedBecause": {"reason": reason_code, "id": cause_id}}
    return [{"id": key.id, "name": key.fields["name"]} for key in revoked_keys] or None


@action(weight=1, key=record_index)
def revoke_api_key(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "revoke_api_key", record) and not record.internal.get("is_revoked"):
        record.internal["is_revoked"] = True
        record.fields["status"], record.has_unseen_version = "revoked", True
        keys = run.model.list_existing("api_key")
        revoke_dependent_keys(record.parent, keys, record.id, "parent_revoked", set())
        run.expect_entry(by, "revoke_api_key", record)


@action(key=record_index, hours=st.sampled_from([0, 24]))
def rotate_api_key(run: ModelRun, by: Sender, record: ModelRecord, hours: int) -> None:
    caller, rotation_count = run.caller_of(by), record.internal.get("rotation_count", 0)
    if record.fields["status"] != "active":
        refusal: str | None = "409 invalid_transition"
    else:
        refusal = _scope_refusal(caller, record.fields["scopes"])
        if caller.id != record.id:
            refusal = refusal or _expiry_refusal(caller, record.internal["expires_at_seconds"])
        if refusal is None and hours and rotation_count >= _MAX_SECRETS - 1:
            return
    if response := run.request(by, "rotate_api_key", record, {"graceHours": hours}, refusal=refusal):
        former_secret, issuers = record.internal["key"], record.internal["issuer_chain"]
        record.internal["rotation_count"] = rotation_count + 1
        if caller.id != record.id:
            record.internal["issuer_chain"] = [*dict.fromkeys([*issuers, *_issuer_chain(caller)])]
        derived_fields = ("hint", "lastUsedAt", "formerSecretsUntil")
        run.apply_change(by, "rotate_api_key", record, response, {}, derived_fields=derived_fields, key=True)
        assert record.internal["key"] != former_secret
        assert (run.api.get(record.parent.path, caller=former_secret).status == 401) == (hours == 0)


@action(place=record_index)
def list_api_keys(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    keys = run.model.list_existing("api_key", organization)
    run.check_list(by, "list_api_keys", organization, keys, "status", "scopes", "key")
