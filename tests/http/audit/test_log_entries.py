import json
from hashlib import sha256

import pytest
import rfc8785

from tests.harness import audit_logs, memory_aws, rfc6962
from tests.harness.api import CLIENT_IP, USER_AGENT
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import (
    CreatedOrganization,
    create_api_key,
    create_organization,
    post_api_key,
)


class TestEntries:
    def test_an_entry_has_exactly_the_fields_of_the_contract(self, api, ada):
        response = api.post("/organizations", caller=ada, json={"name": "Engines"})
        organization = CreatedOrganization(response.json, ada)
        (entry,) = list_entries(api, organization)
        assert entry == {
            "id": entry["id"],
            "sequence": None,
            "type": "organization.created",
            "occurredAt": organization.record["createdAt"],
            "organizationId": organization.id,
            "actor": {"type": "user", "id": ada.id, "name": "Ada Lovelace"},
            "target": {"type": "organization", "id": organization.id, "name": "Engines"},
            "context": {
                "operationId": "create_organization",
                "requestId": response.request_id,
                "ipAddress": CLIENT_IP,
                "userAgent": USER_AGENT,
            },
            "changes": [],
            "data": organization.record,
            "integrity": None,
        }

    def test_an_entry_is_listed_at_once_and_gets_its_sequence_later(self, api, ada, workers):
        organization = create_organization(api, ada)
        (before,) = list_entries(api, organization)
        workers.deliver()
        (after,) = list_entries(api, organization)
        integrity = {"leafHash": rfc6962.leaf_hash(before).hex(), "treeSize": 1}
        assert after == {**before, "sequence": 1, "integrity": integrity}

    def test_changes_list_each_changed_field_with_both_values(self, api, ada):
        organization = create_organization(api, ada, companyName="Old", companyCountry="GB")
        sent = {"name": "New", "companyName": None, "companyId": "7", "companyCountry": "GB"}
        record = api.patch(organization.path, caller=ada, json=sent).json
        entry = list_entries(api, organization)[0]
        assert {c["field"]: (c["from"], c["to"]) for c in entry["changes"]} == {
            "name": ("Analytical Engines", "New"),
            "companyName": ("Old", None),
            "companyId": (None, "7"),
        }
        assert entry["data"] == record

    def test_an_api_key_is_named_as_the_actor(self, api, organization):
        key = create_api_key(api, organization, "admin")
        api.patch(organization.path, caller=key, json={"name": "New"})
        assert list_entries(api, organization)[0]["actor"] == {
            "type": "api_key",
            "id": key.id,
            "name": "Nightly export",
        }

    def test_secrets_appear_nowhere(self, api, organization, ada):
        created = post_api_key(api, organization)
        rotated = api.post(f"{created.location}/rotate", caller=ada, json={"graceHours": 0})
        entries = json.dumps(list_entries(api, organization))
        assert created.json["key"] not in entries
        assert rotated.json["key"] not in entries
        newest = list_entries(api, organization)[0]
        assert newest["type"] == "organization.api_key.rotated"
        assert newest["data"] == {**rotated.json, "key": None}
        assert [c["field"] for c in newest["changes"]] == ["hint"]

    def test_a_value_over_4_kib_appears_as_its_hash_and_size(self, api, ada):
        organization = create_organization(api, ada)
        address = "é" * 4000
        api.patch(organization.path, caller=ada, json={"companyAddress": address})
        api.patch(organization.path, caller=ada, json={"companyAddress": None})
        cleared, filled, _ = list_entries(api, organization)
        data = rfc8785.dumps(address)
        digest = {"sha256": sha256(data).hexdigest(), "size": len(data)}
        assert filled["data"]["companyAddress"] == digest
        assert filled["changes"] == [{"field": "companyAddress", "from": None, "to": digest}]
        assert cleared["changes"] == [{"field": "companyAddress", "from": digest, "to": None}]

    def test_a_long_entry_is_complete(self, api, ada, workers):
        organization = create_organization(api, ada, companyAddress="a" * 3900)
        record = api.patch(organization.path, caller=ada, json={"companyAddress": "b" * 3900}).json
        workers.deliver()
        entry = list_entries(api, organization)[0]
        assert entry["data"] == record
        assert entry["changes"] == [{"field": "companyAddress", "from": "a" * 3900, "to": "b" * 3900}]
        assert entry["integrity"]["leafHash"] == rfc6962.leaf_hash(entry).hex()

    def test_the_leaf_is_the_canonical_json_of_unusual_characters(self, api, ada, workers):
        organization = create_organization(
            api, ada, name='Zoë "quotes" \\ / <&> 🚂 \ufeff é', companyAddress="a\r\n\tb"
        )
        workers.deliver()
        (entry,) = list_entries(api, organization)
        assert entry["integrity"]["leafHash"] == rfc6962.leaf_hash(entry).hex()
        assert entry["data"]["name"] == organization.record["name"]

    def test_a_long_user_agent_is_truncated_and_an_empty_user_agent_is_null(self, api, ada):
        organization = create_organization(api, ada)
        api.patch(organization.path, caller=ada, json={"name": "B"}, headers={"User-Agent": "x" * 5000})
        api.patch(organization.path, caller=ada, json={"name": "C"}, headers={"User-Agent": ""})
        without_agent, with_long_agent, _ = list_entries(api, organization)
        assert without_agent["context"]["userAgent"] is None
        assert 1 <= len(with_long_agent["context"]["userAgent"]) <= 1024

    def test_rejected_requests_create_no_entries(self, api, organization, mary):
        before = list_entries(api, organization)
        api.patch(organization.path, caller=mary, json={"name": "x"})
        api.patch(organization.path, caller=organization.owner, json={"name": ""})
        api.patch(organization.path, caller=organization.owner, json={"name": "x"}, headers={"If-Match": '"stale"'})
        api.post(f"{organization.path}/leave", caller=organization.owner)
        assert list_entries(api, organization) == before


class TestListAuditLog:
    def test_the_newest_comes_first(self, api, organization, workers):
        for name in "abc":
            api.patch(organization.path, caller=organization.owner, json={"name": name})
        for _ in range(2):
            entries = list_entries(api, organization)
            assert [entry["data"].get("name") for entry in entries[:3]] == ["c", "b", "a"]
            assert entries[-1]["type"] == "organization.created"
            workers.deliver()

    def test_only_admins_and_keys_with_the_scope_read_the_log(self, api, organization, grace, edith, mary, stranger):
        path = f"{organization.path}/audit-log"
        assert api.get(path, caller=grace).status == 200
        for person in (edith, mary):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"
        assert api.get(path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(path, caller=create_api_key(api, organization, "audit-log:read")).status == 200
        assert (
            api.get(path, caller=create_api_key(api, organization, "write")).status_and_code == "403 insufficient_scope"
        )

    def test_a_log_holds_only_the_entries_of_its_organization(self, api, ada):
        first, second = create_organization(api, ada), create_organization(api, ada)
        assert {entry["organizationId"] for entry in list_entries(api, first)} == {first.id}
        assert {entry["organizationId"] for entry in list_entries(api, second)} == {second.id}

    def test_paginating_a_growing_log_yields_each_entry_once(self, api, organization, ada):
        for n in range(7):
            api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
        path = f"{organization.path}/audit-log"
        all_entries = list_entries(api, organization)
        listed, cursor = [], None
        while True:
            page = api.get(path, caller=ada, query={"limit": 3, **({"cursor": cursor} if cursor else {})}).json
            listed += page["items"]
            api.patch(organization.path, caller=ada, json={"name": f"While reading {len(listed)}"})
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert listed == all_entries

    @pytest.mark.parametrize("attribute", ["type", "actor", "target", "leaf", "created_at", "log_id", "body"])
    def test_an_unreadable_entry_is_omitted_and_found_by_verification(self, api, ada, workers, attribute):
        organization = create_organization(api, ada)
        api.patch(organization.path, caller=ada, json={"name": "Second"})
        workers.deliver()
        entry = audit_logs.entry_item(organization, 1)
        memory_aws.put_item({name: value for name, value in entry.items() if name != attribute})
        assert [e["sequence"] for e in api.get_items(f"{organization.path}/audit-log", caller=ada)] == [2]
        assert audit_logs.verification_failure(api, organization)[1] == 1
