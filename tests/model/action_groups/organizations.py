"""Organizations: creation, changes, deletion, restoration, lists and logs."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, positions, record_index, slugs
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import MEMBERS, Json, ModelRecord

_fields = optional_fields(
    name=names, slug=slugs, companyName=st.none() | names, companyCountry=st.sampled_from([None, "GB", "NO"])
)


@action(fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "companyAddress": optional_texts}))
def create_organization(run: ModelRun, by: Sender, fields: Json) -> None:
    if len(run.model.list_existing("organization")) >= _MAX_ORGANIZATIONS:
        return
    refusal = run.model.slug_refusal("organization", fields.get("slug"))
    expected = {"status": "active", "ownerId": run.caller_of(by).id, "deletionDueAt": None, "companyCountry": None}
    expected |= fields
    if created := run.create(by, "create_organization", "organization", None, fields, expected, refusal=refusal):
        assert run.model.slug_refusal("organization", created.fields["slug"], created) is None
        add_membership(run, created, created.fields["ownerId"], "owner")


_MAX_ORGANIZATIONS = 4


def add_membership(run: ModelRun, container: ModelRecord, user_id: str, role: str) -> ModelRecord:
    """Add a membership to the model, as the service shows it."""
    shown_member = run.api.get(f"{container.path}/members/{user_id}", caller=run.owner_of(container)).json
    person = next(p for p in run.people.values() if p.id == user_id)
    expected = {"userId": user_id, "username": person.username, "name": person.name, "email": person.email}
    assert {**expected, "role": role, "version": 1}.items() <= shown_member.items(), shown_member
    member = ModelRecord(MEMBERS[container.kind], shown_member, container)
    run.model.records.append(member)
    return member


@action(place=record_index, fields=_fields)
def update_organization(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    former_slug = organization.fields["slug"]
    refusal = run.model.slug_refusal("organization", fields.get("slug"), organization)
    if run.update(by, "update_organization", organization, fields, fields, refusal=refusal):
        run.model.keep_former_slug(organization, former_slug)


@action(weight=1, place=record_index)
def delete_organization(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if run.request(by, "delete_organization", organization):
        organization.fields["status"], organization.has_unseen_version = "pending_deletion", True
        run.expect_entry(by, "delete_organization", organization)


@action(place=positions)
def restore_organization(run: ModelRun, by: Sender, place: int) -> None:
    """Restore a deleted organization. Only its owner can see it."""
    organizations = run.model.list_all("organization")
    deleted = [organization for organization in organizations if organization.fields["status"] == "pending_deletion"]
    if deleted:
        restore(run, by, deleted[place % len(deleted)])


def restore(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
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
        response.expect(200)
        changed_fields, event = {"status": "active", "deletionDueAt": None}, "organization.restored"
        run.apply_change(by, "update_organization", organization, response, changed_fields, event=event)


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
        check_visible(run, by, "organization", response.json["items"])


def check_visible(run: ModelRun, by: Sender, kind: str, listed: list[Json]) -> None:
    """Assert that a caller sees exactly the containers of a kind in which the caller has a role, with that role."""
    roles = {each.id: run.model.effective_role(run.caller_of(by), each) for each in run.model.list_existing(kind)}
    assert {item["id"]: item["role"] for item in listed} == {id_: role for id_, role in roles.items() if role}
    assert len({item["id"] for item in listed}) == len(listed)


@action(place=record_index)
def list_audit_log(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_audit_log", organization, query={"limit": 1}):
        newest_entry = run.model.expected_entries[organization.id][-1]
        listed = [(e["type"], e["target"]["id"]) for e in response.json["items"] if e["actor"]["type"] != "system"]
        assert listed in ([(newest_entry.type, newest_entry.target_id)], [])
