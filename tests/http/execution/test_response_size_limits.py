"""Responses with many large records: pages of a list are shorter, and a tree suggests smaller requests."""

import json
from typing import Any

import pytest

from chalicelib.features.leads.entities import Lead
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, Taxonomy, TaxonomyNode
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.ids import new_id
from tests.harness import memory_aws
from tests.harness.api import MAX_ENVELOPE_BYTES
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.platforms import create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.webhooks import create_webhook


class TestTree:
    @pytest.fixture
    def get_tree(self, api, organization, mary):
        """A function that requests the tree of a taxonomy of 4.65 MB, whose quotes double in size when escaped."""
        platform = extended_scenario("a large tree", lambda: self.create_large_tree(api, organization))
        return lambda **query: api.get(f"{platform.path}/taxonomy-tree", caller=mary, query=query)

    def create_large_tree(self, api, organization):
        platform, timestamp = create_platform(api, organization), now()
        container_ids = {"organization_id": organization.id, "platform_id": platform.id}

        def store_node(name: str, position: int, **fields: Any) -> str:
            fields |= {"name": name, "slug": name.lower(), "position": position, "listed": ALL_NODES_LIST}
            node = TaxonomyNode(**new_id_and_time_fields(timestamp), **container_ids, **fields)
            memory_aws.put_item(node.item())
            return str(node.id)

        memory_aws.put_item(Taxonomy(**new_id_and_time_fields(timestamp), **container_ids).item())
        for n in range(5):
            root_id = store_node(f"R{n}", n, sibling_list=ROOT_TERMS_LIST, child_count=110)
            position = {"parent_id": root_id, "sibling_list": root_id, "ancestor_ids": [root_id]}
            for m in range(110):
                store_node(f"L{m}", m, description='"' * 3900, **position)
        return platform

    def test_a_tree_that_is_too_large_suggests_smaller_requests(self, get_tree):
        too_large = get_tree()
        assert too_large.status_and_code == "409 limit_exceeded"
        assert "`depth`" in too_large.json["detail"]
        assert "`rootId`" in too_large.json["detail"]
        roots = get_tree(depth=1)
        assert [root["name"] for root in roots.json["items"]] == [f"R{n}" for n in range(5)]
        branch = get_tree(rootId=roots.json["items"][0]["id"])
        assert len(branch.json["items"][0]["children"]) == 110
        leaf = get_tree(rootId=branch.json["items"][0]["children"][3]["id"])
        assert leaf.json["items"][0]["path"] == "r0/l3"
        for answer in (roots, branch, leaf):  # They read only their parts of the tree.
            assert answer.calls.bytes_read <= 24_000 + 2 * len(answer.text)
            assert len(answer.calls.read_names) <= 6

    def test_a_part_of_a_tree_is_complete_while_the_index_lags(self, get_tree):
        root_id = get_tree(depth=1).json["items"][0]["id"]
        leaves = [item for item in memory_aws.all_items() if item.get("parent_id") == root_id and item.get("shelf")]
        unindexed = {name: value for name, value in leaves[0].items() if not name.startswith("index2")}
        memory_aws.put_item(unindexed)
        (branch,) = get_tree(rootId=root_id).json["items"]
        assert len(branch["children"]) == 110
        assert unindexed["id"] in {child["id"] for child in branch["children"]}


class TestList:
    def test_large_leads_are_listed_in_shorter_pages(self, api, operator):
        ids: list[str] = []
        for n in range(90):
            timestamp = after(now(), seconds=n - 1000)
            record_fields = new_id_and_time_fields(timestamp)
            submission = {
                "submitted_at": timestamp,
                "contact_name": "Somebody",
                "company_name": None,
                "message": "\N{STEAM LOCOMOTIVE}" * 4000,
                "source": None,
                "consent": None,
                "status": "new",
                "history": [{"status": "new", "at": timestamp}],
            }
            submissions = [{"id": f"{record_fields['id'][:-2]}{m:02}", **submission} for m in range(2)]
            history = [{"status": "new", "at": timestamp, "by": None}]
            email = f"person-{n}@example.org"
            lead = Lead(**record_fields, contact_email=email, submissions=submissions, history=history)
            memory_aws.put_item(lead.item())
            ids.insert(0, lead.id)
        sizes = self.get_page_sizes(api, "/marketing-leads", operator, ids)
        assert sum(sizes) > MAX_ENVELOPE_BYTES
        assert sizes[0] > MAX_ENVELOPE_BYTES * 0.9  # The first page uses most of the available size.

    @pytest.mark.exhaustive
    def test_deliveries_with_escaped_response_bodies_are_listed_in_shorter_pages(self, api, organization):
        webhook = create_webhook(api, organization, "https://hooks.example.com/atrium", enabled=False)
        ids: list[str] = []
        for n in range(100):
            timestamp = after(now(), seconds=n - 1000)
            result = {"status_code": 500, "error": "500", "response_body": "\x01" * 1024}
            delivery = WebhookDelivery.create_pending_or_skipped(
                webhook.id,
                event_id=new_id(timestamp),
                event_type="organization.updated",
                organization_id=organization.id,
                sequence=1,
                occurred_at=timestamp,
                now=timestamp,
                attempt_at=None,
            )
            attempts = [{"number": number, "at": timestamp, "duration_ms": 1, **result} for number in range(1, 11)]
            memory_aws.put_item(delivery.replace(status="failed", attempts=attempts).item())
            ids.insert(0, delivery.id)
        self.get_page_sizes(api, f"{webhook.path}/deliveries", organization.owner, ids)

    def get_page_sizes(self, api, path, caller, ids):
        """Return the sizes of the pages of a list, which must be several and contain records with these ids."""
        pages = api.get_pages(path, caller=caller, query={"limit": 100})
        assert [item["id"] for page in pages for item in page["items"]] == ids
        assert len(pages) > 1
        return [len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages]
