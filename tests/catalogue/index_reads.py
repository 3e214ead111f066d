"""Every read of an index: what it only shows, or which test shows that nothing is decided by an index that lags.

A read is named by the function that names the list, below `chalicelib`, and the lists of indexes that it names there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Shows:
    """It may be late: nobody is let in or kept out by it, and nothing is lost. `what` says why not."""

    what: str


@dataclass(frozen=True)
class Decides:
    """Something depends on it: this test, below `tests/http`, lets the index lag by each of `LAGS`."""

    test: str


_DECISIONS: Final = "test_lagging_decisions.py"
_LISTS: Final = "test_lagging_lists.py"
_LOGS: Final = "test_lagging_logs.py"
_REMOVALS: Final = "test_lagging_removals.py"

_MOVED: Final = Decides(f"{_REMOVALS}::TestPages::test_one_that_moved_away_in_time_stays_with_all_it_has")
_PLATFORM: Final = Decides(f"{_REMOVALS}::TestPlaces::test_nothing_is_left_of_a_platform")
_BRANCH: Final = Decides(f"{_REMOVALS}::TestPlaces::test_nothing_is_left_of_a_branch")
_ERASED: Final = Decides(f"{_REMOVALS}::TestErasures::test_reach_what_was_made_a_moment_before")
_REMOVED: Final = Decides(f"{_DECISIONS}::TestMembers::test_who_was_removed_sees_nothing_any_more")
_MEMBERS: Final = Decides(f"{_LISTS}::TestMembers::test_are_shown_with_the_role_that_they_have")
_LEFT: Final = Decides(f"{_REMOVALS}::TestDepartures::test_end_what_began_a_moment_before")
_LIBRARY: Final = Shows("research; whether its library is open to the caller the table says")
_FILTER: Final = Shows("a filter of a list, to people who may see all of it")

READS: Final[Mapping[str, Shows | Decides]] = {
    "features.taxonomy.attachments.logic.attachment_removal._some_attachments of_node": _BRANCH,
    "features.taxonomy.attachments.logic.attachment_removal.remove_entity_attachments of_entity": Decides(
        f"{_REMOVALS}::TestPlaces::test_nothing_is_attached_to_a_space_that_is_gone"
    ),
    "features.taxonomy.attachments.logic.attachment_queries._query of_entity of_node of_type": Shows(
        "who sees an entity the table says"
    ),
    "features.taxonomy.attachments.logic.attachment_queries.node_attachments_page of_node": Shows(
        "who sees an entity the table says"
    ),
    "features.taxonomy.attachments.logic.attachment_queries.count_visible_attachments of_node": Shows(
        "a number beside a node"
    ),
    "features.audit.log.logic.entry_queries._narrowest_index by_actor by_target by_type": Decides(
        f"{_LOGS}::test_an_export_by_a_filter_holds_all_that_passes"
    ),
    "features.audit.log.logic.entry_queries._query_index 'index1'": Decides(f"{_LOGS}::test_an_untouched_log_is_valid"),
    "features.audit.log.logic.log_verification._final_fault 'index1'": Decides(
        f"{_LOGS}::test_an_untouched_log_is_valid"
    ),
    "features.notifications.deliveries.logic._narrowest_index by_event_type by_status": _FILTER,
    "features.notifications.deliveries.logic.count_deliveries by_status": Shows(
        "about how many deliveries a replay queues; it reads the table"
    ),
    "features.platforms.domains.operations.list_domain_inventory by_status": _FILTER,
    "features.privacy.erasures.logic in_organization": _ERASED,
    "features.privacy.erasures.logic.partitions_to_scan sibling_index": _ERASED,
    "features.privacy.erasures.tasks._redact_records index": _ERASED,
    "kernel.authorization.descendants._membership_rows of_user": Decides(
        f"{_DECISIONS}::TestInvitations::test_a_platforms_new_admin_sees_those_to_it"
    ),
    "features.tenancy.invitations.logic.invitation_lists._platform_invitation_index of_container": Decides(
        f"{_DECISIONS}::TestInvitations::test_a_list_shows_what_has_become_of_each"
    ),
    "features.platforms.members.tasks.remove_invitations of_container": _PLATFORM,
    "features.leads.operations.list_marketing_leads by_email by_email_and_status by_status listed": _FILTER,
    "features.tenancy.logic.members_by_email.find_user_ids_by_email by_email": Decides(
        f"{_DECISIONS}::TestMembers::test_who_joined_just_now_is_a_member_already"
    ),
    "features.tenancy.members.logic.leaving.leave dependents": _LEFT,
    "features.tenancy.members.operations.list_organization_members in_organization": _MEMBERS,
    "features.tenancy.members.tasks._iter_dependents dependents": _LEFT,
    "features.sites.menus.operations.list_navigation_menus in_site": Shows(
        "the names of menus; each is read by its id"
    ),
    "features.tenancy.operations.list_organizations of_user": Decides(
        f"{_LISTS}::TestOrganizations::test_are_not_shown_to_who_was_removed"
    ),
    "features.sites.pages.logic.page_queries.list_pages by_parent by_status": _FILTER,
    "features.sites.pages.tasks._remove_descendants by_parent of_page": _MOVED,
    "features.sites.pages.tasks._unpublish_descendants by_published_parent": _MOVED,
    "features.platforms.members.operations.list_platform_members in_platform": _MEMBERS,
    "features.platforms.operations.list_platforms by_status sibling_index": _REMOVED,
    "features.platforms.logic.visibility._organizations_on_page of_user": _REMOVED,
    "features.platforms.logic.visibility.list_visible_platforms of_user": _REMOVED,
    "features.platforms.project_blocks.operations.list_project_block_platforms in_organization": Shows(
        "whether a platform has the block, and is the caller's, the table says"
    ),
    "features.tenancy.purges.logic._iter_child_containers sibling_index": _PLATFORM,
    "features.research.logic.library_removal._library_partitions in_library": Decides(
        f"{_REMOVALS}::TestPlaces::test_nothing_is_left_of_a_library"
    ),
    "features.research.logic.visibility._libraries_of_page of_user": Decides(
        f"{_LISTS}::TestResearch::test_is_not_shown_to_who_was_removed"
    ),
    "features.research.logic.list_filters.artefact_partitions by_source in_library": _LIBRARY,
    "features.research.logic.list_filters.output_partitions by_doi by_venue by_year in_library": _LIBRARY,
    "features.sites.operations.list_sites sibling_index": Shows("sites, to members of their organization, who see all"),
    "features.platforms.spaces.operations.list_space_members in_space": _MEMBERS,
    "features.platforms.spaces.operations._position_or_last sibling_index": Shows(
        "at the same position the older space stands first"
    ),
    "features.platforms.spaces.logic.list_visible_spaces by_visibility of_user sibling_index": Decides(
        f"{_DECISIONS}::TestSpaces::test_that_turned_private_are_shown_to_nobody_else"
    ),
    "features.taxonomy.logic.node_queries.list_nodes among_siblings in_platform": Shows(
        "nodes, to people who may see all"
    ),
    "features.taxonomy.nodes.logic.node_changes._reparent_children among_siblings": Decides(
        f"{_DECISIONS}::TestTrees::test_children_that_came_just_now_move_up"
    ),
    "features.taxonomy.nodes.tasks._some_children among_siblings": _BRANCH,
    "features.taxonomy.nodes.logic.tree_view._query_lists.query among_siblings": Shows(
        "nodes, to people who may see all"
    ),
    "features.notifications.webhooks.tasks._admins_to_notify in_organization": Shows(
        "whom an email notifies: current admins only"
    ),
    "kernel.work.scheduler._query_due 'due'": Decides(
        f"{_REMOVALS}::TestDepartures::test_end_what_began_a_moment_before"
    ),
    "kernel.audit_log.ledger.unanchored_heads 'index2'": Shows(
        "logs that have grown; what is late is anchored an hour later"
    ),
}
