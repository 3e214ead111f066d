"""Makes *not found* take equally many reads whatever the reason, so that its timing discloses nothing."""

from chalicelib.kernel.authorization import ancestor_cache, descendants
from chalicelib.kernel.authorization.memberships import membership_view_keys
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.authorization.targets import NIL_UUID, Target
from chalicelib.kernel.identity.auth import Principal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import OfRecord, RequireRole, RoleInDescendant
from chalicelib.kernel.storage import table


def perform_skipped_reads(plan: ReadPlan, rule: RequireRole, principal: Principal, *, is_missing: bool) -> None:
    """Perform the reads that a container which is not found has saved: as many as for one that the caller sees.

    A missing container saves the reads of its ancestors and descendants. A container whose ancestors are cached saves
    the read of these. `is_missing`: whether the container does not exist.
    """
    if plan.target.container is None:
        return
    _read_nil_ancestors(rule, plan.target, is_missing=is_missing)
    considers_all_descendants = isinstance(principal, User) and not plan.operation.record_types_by_parameter
    if is_missing and isinstance(rule.policy, RoleInDescendant) and considers_all_descendants:
        descendants.read_nil_descendants(plan, rule.policy, principal.id)


def _read_nil_ancestors(rule: RequireRole, target: Target, *, is_missing: bool) -> None:
    ancestor_types = [*rule.container_type.ancestor_types_nearest_first()]
    if isinstance(rule.location, OfRecord) and target.are_ancestors_cached:
        table.get(ancestor_cache.ancestor_pointer_key(NIL_UUID))
    elif target.are_ancestors_cached or (is_missing and len(target.ancestors) < len(ancestor_types)):
        keys = [kind.make_item_key(id=NIL_UUID) for kind in ancestor_types]
        table.get_all(
            [*keys, *(key for user_id in target.user_ids for key in membership_view_keys(user_id, None, keys))]
        )
