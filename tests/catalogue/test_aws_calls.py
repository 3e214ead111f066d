"""Budgets of AWS calls for every operation, which do not depend on the number of other records.

Retries after conflicts or throttling are not counted: no such errors occur here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any, Final
from uuid import uuid4

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.notifications.log_streams.entities import MAX_LOG_STREAMS
from chalicelib.features.tenancy.logic.membership_groups import MAX_MEMBERSHIPS
from chalicelib.kernel.operations.access_rules import OfRecord, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.registry import add_neighbours, call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers
from tests.harness.api import ApiResponse
from tests.harness.aws_calls import Call
from tests.harness.external_servers import record_delivery_urls
from tests.harness.faults import Fault, inject_fault
from tests.harness.parametrize_operations import parametrize_access_rules, parametrize_operations

DEFAULT_MAX_READS: Final = 2
MAX_READS: Final = {
    # Recomputes the tree: pending entries, the head, the entries (a Query for each megabyte, a BatchGetItem for each
    # hundred bodies in items of their own) and entries after the head. Limited by the window of entries: larger logs
    # take several pages.
    "verify_audit_integrity": 6,
    # Read the page, and then the bodies in items of their own, all in one BatchGetItem. The log of the tenant contains
    # an application event, whose body is always in such an item, as those of long entries are.
    "list_audit_log": 3,
    "export_audit_log": 3,
    # What authorizes, then the last partial tile of leaves (a Query) and, in logs with complete tiles, the tiles (a
    # BatchGetItem) in parallel.
    "prove_audit_entry": 3,
    "prove_audit_log_consistency": 3,
    # Reads the entries from an index, and then their bodies.
    "list_events": 3,
    # Counts failed and skipped deliveries: two Queries of 1 MB each at most.
    "replay_webhook_deliveries": 3,
    # Reads the table and the four shards of the schedule in parallel, then checks whether the found tasks are still
    # due. The result is cached for 5 s for all callers.
    "get_status": 6,
    # The streams, their progress with the size of the log, then the first entry that each stream has not sent, in
    # parallel Queries. An organization has at most ten streams.
    "list_log_streams": 2 + MAX_LOG_STREAMS,
    # Reads the newest entries of 16 logs, in parallel Queries.
    "list_system_audit_log": 16,
    # Reads 16 logs in parallel Queries, and then bodies in items of their own, all in one BatchGetItem.
    "export_system_audit_log": 17,
    # Reads the leads of eight partitions, in parallel Queries.
    "list_marketing_leads": 8,
    # The caller's memberships and the invitations to their address in parallel, the current items, and what decides
    # about the invitations.
    "get_me": 4,
    # What decides about access with the two counters, then in parallel: the members, the webhooks, the domains in each
    # of four statuses, the pending entries and the last batch of the log.
    "get_organization_summary": 9,
    # The invitations to the caller's address, their records, and what decides about them.
    "list_my_invitations": 3,
    # The item that finds the invitation, its record, and what decides about it.
    "respond_to_my_invitation": 3,
    # The caller's organizations, then the lists of each and the caller's memberships in parallel, then visible items.
    "list_platforms": 4,
    # The members and the revocation markers of the containers above in parallel, then the current items of the members.
    "list_organization_members": 3,
    "list_platform_members": 4,
    "list_space_members": 5,
    # Open spaces and the caller's memberships in parallel, then the private spaces of those memberships.
    "list_platform_spaces": 4,
    # As the list of all platforms.
    "list_project_block_platforms": 4,
    # The caller's organizations, then their libraries, the caller's library and the public one in parallel, then the
    # current items.
    "list_artefacts": 4,
    "list_outputs": 4,
    # The members with the e-mail address, by items of the table and by an index in parallel.
    "invite_to_organization": 3,
    "invite_to_platform": 3,
    "erase_person": 3,
    # The platform's modules and the space's overrides in parallel.
    "list_effective_modules": 3,
    "list_module_overrides": 3,
    "get_module_override": 3,
    "set_module_override": 3,
    "replace_module_overrides": 3,
    # The sets of the platform, two sets of the space and the caller's access to the space, in parallel.
    "resolve_platform_config": 5,
    # The page, its parts and its ancestors, then the record of its parent, which counts its children.
    "update_page": 3,
    "delete_page": 3,
    # The page and its ancestors, then its revisions.
    "list_page_revisions": 3,
    # The invitation, the membership of its inviter, the number of e-mails to its address.
    "resend_invitation": 3,
    # The page, the revision with the membership of its author, the ancestors of the page.
    "preview_page_publicly": 3,
    # The stored sitemap, then the published pages and the redirects.
    "get_sitemap": 3,
}
"""Operations with another maximum number of reads, and the reasons."""

OPERATIONS_WITH_HOST_RATE_LIMIT: Final = ("test_webhook",)
"""Operations that send to a host with a rate limit for each organization. The counter takes a write."""

DEFAULT_OVERHEAD_BYTES: Final = 24_000
"""The size of the items that an operation may read for authorization, in addition to the items of its response."""

OVERHEAD_BYTES: Final = {
    # The complete entries of the window.
    "verify_audit_integrity": 200_000,
    # A page of each of 16 logs, of which the newest entries are shown.
    "list_system_audit_log": 60_000,
}
MAX_CPU_SECONDS: Final = 2.0
FEW, MANY = 10, 110
"""Numbers of neighbours. A BatchGetItem returns 100 items at most."""

LISTS_BY_ORGANIZATION: Final = {
    "list_platforms": 1,
    "list_project_block_platforms": 1,
    "list_artefacts": 2,
    "list_outputs": 2,
}
"""Lists with a Query for each organization of the caller, and the number of further parallel Queries: of the caller's
memberships, or of the caller's library and the public one."""

OTHER_CALLS: Final = {
    # The cached sitemap is outdated. It is stored again, once.
    "get_sitemap": {"dynamodb:TransactWriteItems": 1},
    # Finds and reads the newest anchor before the log, for the first page only.
    "verify_audit_integrity": {"s3:ListObjectVersions": 1, "s3:GetObject": 1},
    "get_status": {"sqs:GetQueueAttributes": 4},
    # Counts and releases the messages of four queues. A first poll of each gets them, a second one nothing more.
    "list_dead_letters": {"sqs:GetQueueAttributes": 4, "sqs:ReceiveMessage": 8, "sqs:ChangeMessageVisibility": 4},
}
"""Calls of read operations other than reads of the table, and the reasons."""


def call_successfully(operation: Operation, tenant: TenantFixture, **options: Any) -> ApiResponse:
    """Call an operation, lists with a page size that is always reached and POST requests with an idempotency key."""
    idempotency_headers = {"Idempotency-Key": str(uuid4())} if operation.method == "POST" else None
    answer = call_operation(
        operation, tenant, query={"limit": 3} if operation.is_list else None, headers=idempotency_headers, **options
    )
    return answer.expect(operation.success)


PROOFS: Final = ("prove_audit_entry", "prove_audit_log_consistency")
"""Operations that read tiles, which only logs with 256 entries or more have."""

READERS_OF_ALL_BODIES: Final = ("verify_audit_integrity", "export_audit_log")
"""Operations that read a window of the log instead of a page. The bodies of application events are in items of their
own, so a window of more events takes more BatchGetItems."""

OPERATIONS_WITH_PARTS_BY_ROLE: Final = ("get_organization_summary",)
"""Operations that read less for callers who may see less."""

LISTS_WITHOUT_PAGES: Final = ("get_me",)
"""Operations that show the first organizations of the caller without pages, so they read more keys at once."""


def summarize_call(call: Call) -> Mapping[str, object]:
    """Return the number of keys and writes, the limit and the index of a call."""
    parameters, requested_items = call.parameters, call.parameters.get("RequestItems", {})
    return {
        "call": call.name,
        "keys": sum(len(table_keys["Keys"]) for table_keys in requested_items.values()),
        "writes": len(parameters.get("TransactItems", [])),
        "limit": parameters.get("Limit"),
        "index": parameters.get("IndexName"),
        "consistent": parameters.get("ConsistentRead"),
    }


def split_body_reads(
    calls: Sequence[Mapping[str, object]],
) -> tuple[list[int], list[Mapping[str, object]]]:
    """Return the number of keys of each BatchGetItem after the first call, and the other calls."""
    body_reads = [call for call in calls[1:] if call["call"] == "dynamodb:BatchGetItem"]
    return [int(str(call["keys"])) for call in body_reads], [call for call in calls if call not in body_reads]


def call_with_warm_caches(operation: Operation, tenant: TenantFixture, **options: Any) -> ApiResponse:
    tenant.warm_caches()
    return call_successfully(operation, tenant, **options)


@parametrize_operations()
def test_an_operation_stays_within_its_budget_regardless_of_its_neighbours(operation, tenant, restore_tenant):
    restore_tenant(add_neighbours, 0 if operation.id in LISTS_BY_ORGANIZATION else FEW)
    tenant.warm_caches()
    started = process_time()
    answer = call_successfully(operation, tenant)
    # The limit allows for first calls in the process and for other processes on the machine.
    assert process_time() - started <= MAX_CPU_SECONDS
    assert len(answer.calls.read_names) <= MAX_READS.get(operation.id, DEFAULT_MAX_READS)
    overhead_bytes = OVERHEAD_BYTES.get(operation.id, DEFAULT_OVERHEAD_BYTES)
    assert answer.calls.bytes_read <= overhead_bytes + 4 * len(answer.text.encode())
    other_calls = Counter(answer.calls.call_names) - Counter(answer.calls.read_names)
    if operation.emits_events:
        # External effects are counted before they happen, in a separate transaction.
        writes = 2 if operation.has_external_effects else 1
        host_counter_writes = {"dynamodb:UpdateItem": 1} if operation.id in OPERATIONS_WITH_HOST_RATE_LIMIT else {}
        assert other_calls == {"dynamodb:TransactWriteItems": writes, "sqs:SendMessage": 1, **host_counter_writes}
        # The ledger is notified only after the commit.
        assert answer.calls.call_names[-2:] == ["dynamodb:TransactWriteItems", "sqs:SendMessage"]
    else:
        assert other_calls <= Counter(OTHER_CALLS.get(operation.id, {}))
    if operation.id not in LISTS_BY_ORGANIZATION:
        restore_tenant(add_neighbours, MANY)
        calls_with_many = [*map(summarize_call, call_with_warm_caches(operation, tenant).calls.call_list)]
        expected = [*map(summarize_call, answer.calls.call_list)]
        if operation.id in LISTS_WITHOUT_PAGES:
            expected = [{**few, "keys": many["keys"]} for few, many in zip(expected, calls_with_many, strict=True)]
        if operation.id in PROOFS:
            # The log now has complete tiles: one BatchGetItem for all of them, in parallel with the Query.
            tile_reads = [call for call in calls_with_many if call not in expected]
            assert [call["call"] for call in tile_reads] == ["dynamodb:BatchGetItem"]
            assert len(calls_with_many) <= MAX_READS[operation.id]
            calls_with_many = [call for call in calls_with_many if call in expected]
        if operation.id in READERS_OF_ALL_BODIES:
            # Each body is read exactly once, and nothing else depends on the neighbours.
            (few_bodies, expected), (many_bodies, calls_with_many) = map(split_body_reads, (expected, calls_with_many))
            assert sum(many_bodies) == sum(few_bodies) + MANY - FEW
            assert len(few_bodies) == 1
            assert len(many_bodies) <= 3
        assert calls_with_many == expected


@parametrize_access_rules(
    lambda o: (
        isinstance(o.access, RequireRole)
        and (o.access.container_type.parent_type or isinstance(o.access.location, OfRecord))
    )
)
def test_an_operation_reads_once_more_if_the_ancestors_are_not_cached(operation, tenant):
    reads = call_successfully(operation, tenant).calls.read_names
    assert len(reads) <= 1 + MAX_READS.get(operation.id, DEFAULT_MAX_READS)


@parametrize_operations(lambda o: o.has_external_effects)
class TestWhatCanNotBeTakenBack:
    def test_is_limited_for_each_organization(self, operation):
        assert [each for each in operation.rate_limits if each.per == "organization"]

    def test_is_counted_before_it_happens_and_rejected_at_the_limit(self, operation, tenant, clock):
        (rate_limit,) = [each for each in operation.rate_limits if each.per == "organization"]
        clock.freeze()
        with record_delivery_urls() as urls:
            for number in range(1, rate_limit.limit + 1):
                clock.shift(seconds=2)  # A channel accepts one message per second.
                answer = call_operation(operation, tenant)
                assert (answer.status, len(urls)) == (operation.success, number)
            rejected = call_operation(operation, tenant)
            rejected_for_key = call_operation(operation, tenant, caller=tenant.create_api_key("admin"))
            assert len(urls) == rate_limit.limit
        for each in (rejected, rejected_for_key):
            assert each.status_and_code == "429 rate_limited"
            assert f'"{rate_limit.name}";r=0;' in each.headers["RateLimit"]
            assert each.calls.names_of_service("dynamodb") == each.calls.read_names

    def test_happens_once_and_is_counted_once_despite_a_conflict(self, operation, tenant):
        with (
            record_delivery_urls() as urls,
            inject_fault(Fault.CONFLICT, call_name="dynamodb:TransactWriteItems", first_call=2, times=1) as injected,
        ):
            answer = call_operation(operation, tenant)
        assert (injected.failed_call, answer.status, len(urls)) == ("dynamodb:TransactWriteItems", operation.success, 1)
        (rate_limit,) = [each for each in operation.rate_limits if each.per == "organization"]
        assert f'"{rate_limit.name}";r={rate_limit.limit - 1};' in answer.headers["RateLimit"]

    def test_is_counted_even_if_the_request_fails(self, operation, tenant):
        with (
            record_delivery_urls() as urls,
            inject_fault(Fault.INTERNAL_ERROR, call_name="dynamodb:TransactWriteItems", first_call=2, times=None),
        ):
            failed = call_operation(operation, tenant)
        assert (failed.status, len(urls)) == (503, 1)
        rate_limit = next(each for each in operation.rate_limits if each.per == "organization")
        remaining = call_operation(operation, tenant).headers["RateLimit"]
        assert remaining.startswith(f'"{rate_limit.name}";r={rate_limit.limit - 2};')


def test_verification_reads_one_window_regardless_of_the_length_of_the_log(tenant, restore_tenant, monkeypatch):
    monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)
    windows = []
    for number in (FEW, MANY):
        restore_tenant(add_neighbours, number)
        path, owner = f"{tenant.organization.path}/audit-log/verify-integrity", tenant.people.owner
        first = tenant.api.get(path, caller=owner)
        second = tenant.api.get(path, caller=owner, query={"cursor": first.json["nextCursor"]})
        assert (first.json["checkedEntries"], second.json["checkedEntries"]) == (4, 8)
        windows.append([[summarize_call(call) for call in answer.calls.call_list] for answer in (first, second)])
    assert windows[0] == windows[1]


@parametrize_operations(lambda o: o.id in LISTS_BY_ORGANIZATION)
def test_a_list_over_organizations_queries_25_at_most_in_parallel_and_reads_visible_items_together(
    operation, tenant, restore_tenant
):
    restore_tenant(add_neighbours, FEW)
    # The organizations, the lists of each with the further Queries, and the visible items.
    queries = 1 + (1 + FEW) + LISTS_BY_ORGANIZATION[operation.id]
    names = Counter(call_successfully(operation, tenant).calls.call_names)
    assert names == {"dynamodb:Query": queries, "dynamodb:BatchGetItem": 1}
    restore_tenant(add_neighbours, MANY)
    names = Counter(call_successfully(operation, tenant).calls.call_names)
    assert names["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + LISTS_BY_ORGANIZATION[operation.id]
    assert names["dynamodb:BatchGetItem"] <= 1


@parametrize_access_rules(lambda o: o.scope and o.id != "get_research_job")
def test_an_api_key_takes_one_read_that_is_cached(operation, tenant, restore_tenant):
    restore_tenant(admin_key)
    options = {"caller": tenant.people.get_by_role(Role.ADMIN)} if operation.id in OPERATIONS_WITH_PARTS_BY_ROLE else {}
    by_user = call_with_warm_caches(operation, tenant, **options).calls.names_of_service("dynamodb")
    key = restore_tenant(admin_key)
    first = call_with_warm_caches(operation, tenant, caller=key).calls.names_of_service("dynamodb")
    assert first[0] == "dynamodb:GetItem"
    # The record of the key is read together with the items for authorization. Without a container that takes a
    # separate read, and so does the organization of the key.
    assert len(first) <= (1 if isinstance(operation.access, RequireRole) else 2) + len(by_user)
    if not operation.emits_events and operation.id != "get_sitemap":  # The second call reads the cached sitemap.
        assert call_successfully(operation, tenant, caller=key).calls.names_of_service("dynamodb") == first[1:]


def admin_key(tenant: TenantFixture) -> callers.Caller:
    return tenant.create_api_key("admin")
