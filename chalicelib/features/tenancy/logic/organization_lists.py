"""List the organizations of a caller."""

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.models.organizations import OrganizationListItem, OrganizationsQuery
from chalicelib.kernel.authorization.effective_role import caller_membership_view
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table


def list_organizations_of_caller(ctx: Context, query: OrganizationsQuery) -> ListPage[OrganizationListItem]:
    """Return a page of the organizations that the caller is a member of: one Query and one read.

    For an API key it is the key's organization. A deleted organization is listed only for its owner. The index of
    memberships lags, so the memberships are also read from the table, and those that have ended are omitted.
    """
    position, caller = ctx.decode_cursor(query), ctx.principal_or_anonymous
    if isinstance(caller, ApiKeyPrincipal):
        keys, membership_keys, next_position = (
            [Organization.make_item_key(id=caller.credential.organization_id)],
            [],
            None,
        )
    else:
        partition = Member.of_user.partition(user_id=caller.id, list_name=query.status)
        result = table.query(partition, after=position, limit=query.limit)
        keys = [Organization.make_item_key(id=item["organization_id"]) for item in result.items]
        membership_keys, next_position = [membership_key(key, caller.id) for key in keys], result.last_evaluated_key
    items = table.get_all([*keys, *membership_keys])
    ended_keys = {key for key, membership in zip(keys, membership_keys, strict=False) if membership not in items}
    organizations = [Organization.from_item(items[key]) for key in keys if key in items and key not in ended_keys]
    outputs = [
        OrganizationListItem.of(each, role=caller_membership_view([each], caller, items).roles.get(Organization))
        for each in organizations
        if each.status == query.status and (not each.is_deleted or each.owner_id == caller.id)
    ]
    return ctx.build_page(outputs, next_position, query)
