"""Answers of many large records: a list's page ends in time, a tree says what to ask for instead."""

import json
from typing import Any

import pytest

from chalicelib.features.leads.entities import Lead
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, Taxonomy, TaxonomyNode
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.ids import new_id
from tests.harness import cloud
from tests.harness.api import MAX_ENVELOPE_BYTES, Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded
from tests.harness.platforms import Running, run_platform
from tests.harness.stored_records import beginning
from tests.harness.webhooks import hook


class TestATree:
    @pytest.fixture
    def platform(self, api: Api, organization: Founded) -> Running:
        """A platform with a taxonomy of 4.65 MB whose quotes take twice their room on the way."""
        platform = run_platform(api, organization)
        moment = now()
        place: dict[str, Any] = {
            "organization_id": organization.id,
            "platform_id": platform.id,
            "listed": ALL_NODES_LIST,
        }
        cloud.put(Taxonomy(**beginning(moment), organization_id=organization.id, platform_id=platform.id).item())
        text = '"' * 3900
        for n in range(5):
            root = TaxonomyNode(
                **beginning(moment),
                **place,
                name=f"R{n}",
                slug=f"r{n}",
                sibling_list=ROOT_TERMS_LIST,
                child_count=110,
                position=n,
            )
            cloud.put(root.item())
            below: dict[str, Any] = {
                "parent_id": root.id,
                "sibling_list": root.id,
                "ancestor_ids": [root.id],
                "description": text,
            }
            for m in range(110):
                leaf = TaxonomyNode(**beginning(moment), **place, **below, name=f"L{m}", slug=f"l{m}", position=m)
                cloud.put(leaf.item())
        return platform

    def test_that_no_answer_holds_says_what_to_ask_for(self, api: Api, platform: Running, mary: Person) -> None:
        path = f"{platform.path}/taxonomy-tree"
        refused = api.get(path, as_=mary)
        assert refused.code == "409 limit_exceeded"
        assert "`depth`" in refused.json["detail"]
        assert "`rootId`" in refused.json["detail"]
        roots = api.get(path, as_=mary, query={"depth": 1})
        assert [root["name"] for root in roots.json["items"]] == ["R0", "R1", "R2", "R3", "R4"]
        branch = api.get(path, as_=mary, query={"rootId": roots.json["items"][2]["id"]})
        assert len(branch.json["items"][0]["children"]) == 110

    def test_of_which_a_part_is_asked_for_reads_that_part(self, api: Api, platform: Running, mary: Person) -> None:
        path = f"{platform.path}/taxonomy-tree"
        roots = api.get(path, as_=mary, query={"depth": 1})
        branch = api.get(path, as_=mary, query={"rootId": roots.json["items"][0]["id"]})
        leaf = api.get(path, as_=mary, query={"rootId": branch.json["items"][0]["children"][3]["id"]})
        for answer in (roots, branch, leaf):
            assert answer.calls.bytes_read <= 24_000 + 2 * len(answer.text)
            assert len(answer.calls.reads) <= 6
        assert leaf.json["items"][0]["path"] == "r0/l3"

    def test_of_which_a_part_is_asked_for_lacks_nothing_while_the_index_is_late(
        self, api: Api, platform: Running, mary: Person
    ) -> None:
        path = f"{platform.path}/taxonomy-tree"
        (root, *_) = api.get(path, as_=mary, query={"depth": 1}).json["items"]
        late = next(item for item in cloud.stored() if item.get("parent_id") == root["id"] and item.get("shelf"))
        cloud.put({name: value for name, value in late.items() if not name.startswith("index2")})
        (branch,) = api.get(path, as_=mary, query={"rootId": root["id"]}).json["items"]
        assert len(branch["children"]) == 110
        assert late["id"] in {child["id"] for child in branch["children"]}


class TestAList:
    def test_of_large_leads_comes_in_short_pages(self, api: Api, operator: Person) -> None:
        ids: list[str] = []
        for n in range(90):
            moment = after(now(), seconds=n - 1000)
            begun, at = beginning(moment), moment
            sent = [
                {
                    "id": f"{begun['id'][:-2]}{m:02}",
                    "submitted_at": at,
                    "contact_name": "Somebody",
                    "company_name": None,
                    "message": "\N{STEAM LOCOMOTIVE}" * 4000,
                    "source": None,
                    "consent": None,
                    "status": "new",
                    "history": [{"status": "new", "at": at}],
                }
                for m in range(2)
            ]
            history = [{"status": "new", "at": at, "by": None}]
            lead = Lead(**begun, contact_email=f"person-{n}@example.org", submissions=sent, history=history)
            cloud.put(lead.item())
            ids.insert(0, lead.id)
        pages = api.pages("/marketing-leads", as_=operator, query={"limit": 100})
        assert [item["id"] for page in pages for item in page["items"]] == ids
        assert len(pages) > 1
        assert sum(len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages) > MAX_ENVELOPE_BYTES
        # The first page is as full as it can be.
        sizes = [len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages]
        assert sizes[0] > MAX_ENVELOPE_BYTES * 0.9

    def test_of_deliveries_whose_receivers_answer_control_characters_does_too(
        self, api: Api, organization: Founded
    ) -> None:
        made = hook(api, organization, "https://hooks.example.com/atrium", enabled=False)
        ids: list[str] = []
        for n in range(100):
            moment = after(now(), seconds=n - 1000)
            attempt = {
                "at": moment,
                "duration_ms": 1,
                "status_code": 500,
                "error": "500",
                "response_body": "\x01" * 1024,
            }
            delivery = WebhookDelivery.plan(
                made.id,
                event_id=new_id(moment),
                event_type="organization.updated",
                organization_id=organization.id,
                sequence=1,
                occurred_at=moment,
                now=moment,
                attempt_at=None,
            )
            attempts = [{"number": number, **attempt} for number in range(1, 11)]
            cloud.put(delivery.replace(status="failed", attempts=attempts).item())
            ids.insert(0, delivery.id)
        pages = api.pages(f"{made.path}/deliveries", as_=organization.owner, query={"limit": 100})
        assert [item["id"] for page in pages for item in page["items"]] == ids
        assert len(pages) > 1
