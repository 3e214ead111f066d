"""Organizations: creation, changes, deletion, restoration, lists and logs."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, positions, record_index, slugs
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, Model, ModelRecord

_fields = optional_fields(
    name=names, slug=slugs, companyName=st.none() | names, companyCountry=st.sampled_from([None, "GB", "NO"])
)


def slug_refusal(model: Model, slug: str | None, owner: ModelRecord | None = None) -> str | None:
    """Return the refusal of a slug that another organization has or lately had."""
    holder_ids = {t.fields["slug"]: t.id for t in model.records if t.kind == "organization" and not t.is_deleted}
    holder_id = holder_ids.get(slug or "") or model.former_slugs.get(f"organization/{slug}")
    return "409 slug_taken" if holder_id and holder_id != (owner and owner.id) else None


@action(fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "companyAddress": optional_texts}))
def create_organization(run: ModelRun, by: Sender, fields: Json) -> None:
    if len(run.model.list_existing("organization")) >= _MAX_ORGANIZATIONS:
        return
    response = run.request(by, "create_organization", body=fields, refusal=slug_refusal(run.model, fields.get("slug")))
    if response:
        caller = run.resolve_caller(by.caller_name)[0]
        derived_slug = response.json["slug"]
        assert slug_refusal(run.model, derived_slug) is None
        expected = {"status": "active", "ownerId": caller.id, "deletionDueAt": None, "companyCountry": None}
        created = run.add_created_record("organization", response, None, {**expected, **fields})
        add_membership(run, created, caller.id, "owner")
        run.expect_entry(by, "create_organization", created)


_MAX_ORGANIZATIONS = 4


def add_membership(run: ModelRun, container: ModelRecord, user_id: str, role: str) -> ModelRecord:
    """Add a membership to the model, as the service shows it."""
    from tests.model.service_model import MEMBERS

    shown_member = run.api.get(f"{container.path}/members/{user_id}", caller=run.owner_of(container)).json
    person = next(p for p in run.people.values() if p.id == user_id)
    expected = {"userId": user_id, "username": person.username, "name": person.name, "email": person.email}
    assert {**expected, "role": role, "version": 1}.items() <= shown_member.items(), shown_member
    member = ModelRecord(MEMBERS[container.kind], shown_member, container)
    run.model.records.append(member)
    return member


@action(place=record_index, fields=_fields)
def update_organization(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    refusal = slug_refusal(run.model, fields.get("slug"), organization)
    response = run.request(by, "update_organization", organization, body=fields, refusal=refusal)
    if response:
        former = organization.fields["slug"]
        if run.apply_change(organization, response, fields):
            run.model.former_slugs[f"organization/{former}"] = organization.id
            run.model.former_slugs.pop(f"organization/{organization.fields['slug']}", None)
            run.expect_entry(by, "update_organization", organization)


@action(weight=1, place=record_index)
def delete_organization(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if run.request(by, "delete_organization", organization):
        organization.fields |= {"status": "pending_deletion"}
        organization.has_unseen_version = True
        run.expect_entry(by, "delete_organization", organization)


@action(place=positions)
def restore_organization(run: ModelRun, by: Sender, place: int) -> None:
    """Restore a deleted organization. Only its owner can see it."""
    deleted_organizations = [
        t for t in run.model.records if t.kind == "organization" and t.fields["status"] == "pending_deletion"
    ]
    if deleted_organizations:
        restore(run, by, deleted_organizations[place % len(deleted_organizations)])


def restore(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    """Request the restoration of a deleted organization."""
    caller, credential = run.resolve_caller(by.caller_name)
    response = run.api.patch(organization.path, caller=credential, json={"status": "active"})
    role = None if caller.key else run.model.effective_role(caller, organization)
    if caller.kind == "nobody":
        assert response.status_and_code == "401 unauthenticated"
    elif caller.key and caller.key.fields["status"] != "active":
        assert response.status == 401
    elif role != "owner":
        assert response.status_and_code == "404 not_found"
    else:
        assert response.status == 200, response.text
        organization.fields |= {"status": "active"}
        run.apply_change(organization, response, {"deletionDueAt": None})
        run.expect_entry(by, "update_organization", organization, "organization.restored")


@action(place=record_index)
def get_organization(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "get_organization", organization):
        assert response.json == organization.fields or organization.has_unseen_version


@action(slug=slugs)
def get_organization_by_slug(run: ModelRun, by: Sender, slug: str) -> None:
    organization = next((t for t in run.model.list_existing("organization") if t.fields["slug"] == slug), None)
    if organization and (response := run.request(by, "get_organization_by_slug", organization, slug=slug)):
        assert response.json["id"] == organization.id


@action()
def list_organizations(run: ModelRun, by: Sender) -> None:
    if response := run.request(by, "list_organizations", query={"limit": 100}):
        caller = run.resolve_caller(by.caller_name)[0]
        visible_ids = [o.id for o in run.model.list_existing("organization") if run.model.effective_role(caller, o)]
        assert sorted(item["id"] for item in response.json["items"]) == sorted(visible_ids)


@action(place=record_index)
def list_audit_log(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_audit_log", organization, query={"limit": 1}):
        request_entries = [entry for entry in response.json["items"] if entry["actor"]["type"] != "system"]
        newest_entry = run.model.expected_entries[organization.id][-1]
        assert [(entry["type"], entry["target"]["id"]) for entry in request_entries] in (
            [(newest_entry.type, newest_entry.target_id)],
            [],
        )
