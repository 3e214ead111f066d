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
from tests.harness.api import MAX_ENVELOPE_BYTES, ApiClient
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.webhooks import create_webhook


class TestTree:
    @pytest.fixture
    def platform(self, api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
        """A platform with a taxonomy of 4.65 MB, whose quotes double in size when they are escaped."""
        platform = create_platform(api, organization)
        timestamp = now()
        container_fields: dict[str, Any] = {
            "organization_id": organization.id,
            "platform_id": platform.id,
            "listed": ALL_NODES_LIST,
        }
        memory_aws.put_item(
            Taxonomy(
                **new_id_and_time_fields(timestamp), organization_id=organization.id, platform_id=platform.id
            ).item()
        )
        text = '"' * 3900
        for n in range(5):
            root = TaxonomyNode(
                **new_id_and_time_fields(timestamp),
                **container_fields,
                name=f"R{n}",
                slug=f"r{n}",
                sibling_list=ROOT_TERMS_LIST,
                child_count=110,
                position=n,
            )
            memory_aws.put_item(root.item())
            leaf_fields: dict[str, Any] = {
                "parent_id": root.id,
                "sibling_list": root.id,
                "ancestor_ids": [root.id],
                "description": text,
            }
            for m in range(110):
                leaf = TaxonomyNode(
                    **new_id_and_time_fields(timestamp),
                    **container_fields,
                    **leaf_fields,
                    name=f"L{m}",
                    slug=f"l{m}",
                    position=m,
                )
                memory_aws.put_item(leaf.item())
        return platform

    def test_a_tree_that_is_too_large_suggests_smaller_requests(self, api, platform, mary):
        path = f"{platform.path}/taxonomy-tree"
        too_large = api.get(path, caller=mary)
        assert too_large.status_and_code == "409 limit_exceeded"
        assert "`depth`" in too_large.json["detail"]
        assert "`rootId`" in too_large.json["detail"]
        roots = api.get(path, caller=mary, query={"depth": 1})
        assert [root["name"] for root in roots.json["items"]] == ["R0", "R1", "R2", "R3", "R4"]
        branch = api.get(path, caller=mary, query={"rootId": roots.json["items"][2]["id"]})
        assert len(branch.json["items"][0]["children"]) == 110

    def test_a_request_for_a_part_of_a_tree_reads_only_that_part(self, api, platform, mary):
        path = f"{platform.path}/taxonomy-tree"
        roots = api.get(path, caller=mary, query={"depth": 1})
        branch = api.get(path, caller=mary, query={"rootId": roots.json["items"][0]["id"]})
        leaf = api.get(path, caller=mary, query={"rootId": branch.json["items"][0]["children"][3]["id"]})
        for answer in (roots, branch, leaf):
            assert answer.calls.bytes_read <= 24_000 + 2 * len(answer.text)
            assert len(answer.calls.read_names) <= 6
        assert leaf.json["items"][0]["path"] == "r0/l3"

    def test_a_part_of_a_tree_is_complete_while_the_index_lags(self, api, platform, mary):
        path = f"{platform.path}/taxonomy-tree"
        (root, *_) = api.get(path, caller=mary, query={"depth": 1}).json["items"]
        unindexed = next(
            item for item in memory_aws.all_items() if item.get("parent_id") == root["id"] and item.get("shelf")
        )
        memory_aws.put_item({name: value for name, value in unindexed.items() if not name.startswith("index2")})
        (branch,) = api.get(path, caller=mary, query={"rootId": root["id"]}).json["items"]
        assert len(branch["children"]) == 110
        assert unindexed["id"] in {child["id"] for child in branch["children"]}


class TestList:
    def test_large_leads_are_listed_in_shorter_pages(self, api, operator):
        ids: list[str] = []
        for n in range(90):
            timestamp = after(now(), seconds=n - 1000)
            record_fields = new_id_and_time_fields(timestamp)
            submissions = [
                {
                    "id": f"{record_fields['id'][:-2]}{m:02}",
                    "submitted_at": timestamp,
                    "contact_name": "Somebody",
                    "company_name": None,
                    "message": "\N{STEAM LOCOMOTIVE}" * 4000,
                    "source": None,
                    "consent": None,
                    "status": "new",
                    "history": [{"status": "new", "at": timestamp}],
                }
                for m in range(2)
            ]
            history = [{"status": "new", "at": timestamp, "by": None}]
            lead = Lead(
                **record_fields, contact_email=f"person-{n}@example.org", submissions=submissions, history=history
            )
            memory_aws.put_item(lead.item())
            ids.insert(0, lead.id)
        pages = api.get_pages("/marketing-leads", caller=operator, query={"limit": 100})
        assert [item["id"] for page in pages for item in page["items"]] == ids
        assert len(pages) > 1
        assert sum(len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages) > MAX_ENVELOPE_BYTES
        # The first page uses most of the available size.
        sizes = [len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages]
        assert sizes[0] > MAX_ENVELOPE_BYTES * 0.9

    def test_deliveries_with_escaped_response_bodies_are_listed_in_shorter_pages(self, api, organization):
        webhook = create_webhook(api, organization, "https://hooks.example.com/atrium", enabled=False)
        ids: list[str] = []
        for n in range(100):
            timestamp = after(now(), seconds=n - 1000)
            attempt = {
                "at": timestamp,
                "duration_ms": 1,
                "status_code": 500,
                "error": "500",
                "response_body": "\x01" * 1024,
            }
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
            attempts = [{"number": number, **attempt} for number in range(1, 11)]
            memory_aws.put_item(delivery.replace(status="failed", attempts=attempts).item())
            ids.insert(0, delivery.id)
        pages = api.get_pages(f"{webhook.path}/deliveries", caller=organization.owner, query={"limit": 100})
        assert [item["id"] for page in pages for item in page["items"]] == ids
        assert len(pages) > 1
