"""All reads of indexes: those that only display something, and those on which a decision depends, with their tests.

A read is identified by the function that refers to the index, below `chalicelib`, and the names of the indexes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class DisplayRead:
    """A read that may lag, because no access and no data depend on it. `reason`: why not."""

    reason: str


@dataclass(frozen=True)
class DecisionRead:
    """A read on which a decision depends. `test`: the test in `tests/http` with each lag of `LAGS`."""

    test: str


_LAGGING: Final = "execution/test_lagging_indexes.py"
_LOGS: Final = "audit/test_log_with_lagging_indexes.py"

_MOVED_PAGE: Final = DecisionRead(
    f"{_LAGGING}::TestPages::test_a_page_moved_before_the_deletion_stays_with_all_its_contents"
)
_DELETED_PLATFORM: Final = DecisionRead(f"{_LAGGING}::TestContainers::test_no_item_of_a_deleted_platform_remains")
_DELETED_BRANCH: Final = DecisionRead(f"{_LAGGING}::TestContainers::test_no_item_of_a_deleted_branch_remains")
_ERASURE: Final = DecisionRead(f"{_LAGGING}::test_an_erasure_covers_records_created_just_before")
_RECONCILIATION: Final = DecisionRead(f"{_LAGGING}::test_a_reconciliation_has_no_finding")
_REMOVED_MEMBER: Final = DecisionRead(f"{_LAGGING}::TestMembers::test_a_removed_member_sees_no_platforms")
_MEMBER_ROLES: Final = DecisionRead(f"{_LAGGING}::test_members_are_listed_with_their_current_role")
_DEPARTED_MEMBER: Final = DecisionRead(
    f"{_LAGGING}::test_a_departure_ends_memberships_and_invitations_created_just_before"
)
_RESEARCH_LIST: Final = DisplayRead("research; access to the library is read from the table")
_LIST_FILTER: Final = DisplayRead("a filter of a list, for callers who may see the whole list")

INDEX_READS: Final[Mapping[str, DisplayRead | DecisionRead]] = {
    "features.events.types.logic.definitions.list_declared_types by_name": DisplayRead(
        "the list of event types; subscriptions and events are checked with items of the table"
    ),
    "features.taxonomy.attachments.logic.attachment_removal._load_some_attachments of_node": _DELETED_BRANCH,
    "features.taxonomy.attachments.logic.attachment_removal.remove_entity_attachments of_entity": DecisionRead(
        f"{_LAGGING}::TestContainers::test_no_attachment_of_a_deleted_space_remains"
    ),
    "features.taxonomy.attachments.logic.attachment_queries._query_attachments of_entity of_node of_type": DisplayRead(
        "access to the entity is read from the table"
    ),
    "features.taxonomy.attachments.logic.attachment_queries.list_attachments_of_node of_node": DisplayRead(
        "access to the entity is read from the table"
    ),
    "features.taxonomy.attachments.logic.attachment_queries.count_visible_attachments_up_to_limit of_node": DisplayRead(
        "the number of attachments of a node"
    ),
    (
        "features.audit.log.logic.entry_queries._narrowest_index "
        "by_actor by_origin by_origin_and_target by_target by_type"
    ): DecisionRead(f"{_LOGS}::TestFilteredExports::test_contain_and_prove_all_matching_entries"),
    "features.audit.log.logic.entry_queries._partitions by_origin_and_target by_target": DecisionRead(
        f"{_LOGS}::test_an_export_by_target_contains_recent_entries_of_both_kinds_of_events"
    ),
    "features.audit.log.logic.entry_queries._query_sequence_index 'index1'": DecisionRead(
        f"{_LOGS}::test_an_untouched_log_is_valid_and_anchored"
    ),
    "features.audit.log.logic.log_verification._find_root_or_trailing_fault 'index1'": DecisionRead(
        f"{_LOGS}::test_an_untouched_log_is_valid_and_anchored"
    ),
    "features.audit.log.logic.unanchored_heads.iter_unanchored_head_pages 'index2'": DisplayRead(
        "logs that have grown; those that the index lacks are anchored an hour later"
    ),
    "features.audit.witnesses.logic.anchored_checkpoints.iter_pending_batches 'index2'": DecisionRead(
        "audit/test_witnesses.py::TestRecovery::test_anchors_are_collected_once_although_the_index_lags"
    ),
    "features.notifications.deliveries.logic._most_selective_facet by_event_type by_status": _LIST_FILTER,
    "features.notifications.deliveries.logic.count_deliveries by_status": DisplayRead(
        "the estimated number of deliveries of a replay, which itself reads the table"
    ),
    "features.platforms.domains.operations.list_domain_inventory by_status": _LIST_FILTER,
    "features.overviews.organization_summaries.logic._reads_of_part by_status": DisplayRead(
        "the number of domains in each status, for callers who may see the whole inventory"
    ),
    "features.privacy.erasures.logic.named_people in_organization": _ERASURE,
    "kernel.storage.record_types.container_content_ranges sibling_index": _ERASURE,
    "features.audit.reconciliations.logic.log_reader.LogReader.list_newest_about by_target": _RECONCILIATION,
    "features.audit.reconciliations.logic.log_reader.LogReader.read_range by_target by_type": _RECONCILIATION,
    "features.audit.reconciliations.logic.log_reader.LogReader.list_of_types_until by_type": _RECONCILIATION,
    "features.audit.reconciliations.logic.log_reader.LogReader.list_of_types_after by_type": _RECONCILIATION,
    "features.audit.reconciliations.logic.walk.Walk._check_record_page index": _RECONCILIATION,
    "features.privacy.erasures.tasks._redact_record_page index": _ERASURE,
    "kernel.authorization.descendants._load_membership_rows of_user": DecisionRead(
        f"{_LAGGING}::TestInvitations::test_a_platforms_new_admin_sees_its_invitations"
    ),
    "features.tenancy.invitations.logic.invitation_lists._invitations_by_platform_index of_container": DecisionRead(
        f"{_LAGGING}::TestInvitations::test_a_list_shows_the_current_status_of_each_invitation"
    ),
    "features.platforms.members.tasks.remove_platform_invitations of_container": _DELETED_PLATFORM,
    "features.events.service_keys.operations.list_service_keys all_service_keys": DisplayRead(
        "service keys, for operators; each request with a key reads its record from the table"
    ),
    "features.leads.operations.list_marketing_leads all_leads by_email by_email_and_status by_status": _LIST_FILTER,
    "features.tenancy.logic.members_by_email.find_user_ids_with_emails by_email": DecisionRead(
        f"{_LAGGING}::TestMembers::test_a_new_member_already_counts_as_a_member"
    ),
    "features.tenancy.members.logic.leaving.delete_member_and_dependents dependents_index": _DEPARTED_MEMBER,
    "features.tenancy.members.operations.list_organization_members in_organization": _MEMBER_ROLES,
    "features.tenancy.members.tasks._iter_dependent_records dependents_index": _DEPARTED_MEMBER,
    "features.sites.menus.operations.list_navigation_menus in_site": DisplayRead(
        "the names of menus; each menu is read by its id"
    ),
    "features.tenancy.logic.organization_lists.list_organizations_of_caller of_user": DecisionRead(
        f"{_LAGGING}::test_an_organization_is_not_listed_for_a_removed_member"
    ),
    "features.tenancy.me.logic.caller_description._query_memberships_and_invitation_pointers of_user": DecisionRead(
        f"{_LAGGING}::test_an_organization_is_not_listed_for_a_removed_member"
    ),
    "features.admin.migrations.logic.steps.list_invitations_by_address._iter_unlisted_invitations 'due'": DisplayRead(
        "invitations of earlier releases, which are listed for the invited person; each is read from the table"
    ),
    "features.admin.migrations.logic.steps.list_records_by_name.step all_leads": DisplayRead(
        "leads of earlier releases, which operators search; each is read from the table"
    ),
    (
        "features.admin.migrations.logic.steps.list_records_by_name._try_add_rows_of_organization "
        "in_organization sibling_index"
    ): DisplayRead("records of earlier releases, which are then found by name; each is read from the table"),
    "features.sites.pages.logic.page_queries.list_pages by_parent by_status": _LIST_FILTER,
    "features.sites.pages.tasks._remove_own_records_and_descendants by_parent of_page": _MOVED_PAGE,
    "features.sites.pages.tasks._unpublish_descendants by_published_parent": _MOVED_PAGE,
    "features.platforms.members.operations.list_platform_members in_platform": _MEMBER_ROLES,
    "features.platforms.operations.list_platforms by_status sibling_index": _REMOVED_MEMBER,
    "features.platforms.logic.visibility._load_memberships_at_cursor_and_organization_ids of_user": _REMOVED_MEMBER,
    "features.platforms.logic.visibility.list_visible_platforms of_user": _REMOVED_MEMBER,
    "features.platforms.logic.visibility._load_platforms_outside_of_organizations of_user": _REMOVED_MEMBER,
    "features.platforms.project_blocks.operations.list_project_block_platforms in_organization": DisplayRead(
        "the block and the access to the platform are read from the table"
    ),
    "features.tenancy.purges.logic._iter_child_container_items sibling_index": _DELETED_PLATFORM,
    "features.research.logic.library_removal._record_types_and_partitions in_library": DecisionRead(
        f"{_LAGGING}::TestContainers::test_no_item_of_a_library_remains"
    ),
    "features.research.logic.visibility.list_visible_jobs_of_caller of_caller": _RESEARCH_LIST,
    "features.research.logic.visibility._group_and_library_ids_of_page of_user": DecisionRead(
        f"{_LAGGING}::test_research_is_not_listed_for_a_removed_member"
    ),
    "features.research.logic.list_filters.artefact_partition_function by_source in_library": _RESEARCH_LIST,
    "features.research.logic.list_filters.output_partition_function by_doi by_venue by_year in_library": _RESEARCH_LIST,
    "features.sites.logic.list_stored_sites sibling_index": DisplayRead(
        "sites, for members of the organization, who may see all of them"
    ),
    "features.platforms.spaces.operations.list_space_members in_space": _MEMBER_ROLES,
    "features.platforms.spaces.operations._requested_or_last_position sibling_index": DisplayRead(
        "the default position of a space; of two equal positions the older space comes first"
    ),
    "features.platforms.spaces.logic.list_visible_spaces by_visibility of_user sibling_index": DecisionRead(
        f"{_LAGGING}::test_a_space_that_became_private_is_hidden_from_others"
    ),
    "features.taxonomy.logic.node_queries.list_nodes among_siblings in_platform": DisplayRead(
        "nodes, for callers who may see all of them"
    ),
    "features.taxonomy.nodes.logic.node_changes._reparent_children among_siblings": DecisionRead(
        f"{_LAGGING}::TestTrees::test_children_added_just_now_move_up"
    ),
    "features.taxonomy.nodes.tasks._load_some_children among_siblings": _DELETED_BRANCH,
    "features.taxonomy.nodes.logic.tree_view._load_nodes_of_sibling_lists.query among_siblings": DisplayRead(
        "nodes, for callers who may see all of them"
    ),
    "features.notifications.logic.admin_notices._iter_admins_to_notify in_organization": DisplayRead(
        "the recipients of an e-mail; only current admins get it"
    ),
    "features.notifications.log_streams.logic.stream_state._lag_seconds 'index1'": DisplayRead(
        "the age of the first entry that a log stream has not sent"
    ),
    "kernel.work.due_items.iter_pages 'due'": DecisionRead(
        f"{_LAGGING}::test_a_departure_ends_memberships_and_invitations_created_just_before"
    ),
}
