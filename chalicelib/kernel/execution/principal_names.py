"""Adds the names of users and API keys to a page of a list, if the request asks for them."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.principal_ids import NamesQuery, PrincipalNameOut, PrincipalNames, principal_id_fields
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.grants import OrganizationCredential
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item

_ATTRIBUTES: Final = ("pk", "sk", "name", "username")


def add_names_if_requested(ctx: Context, result: Any) -> Any:
    """Return the result of a handler. A page of a list has names if the request has `include=names`."""
    query, model = ctx.input.query, ctx.operation.response_or_item_model
    if not (isinstance(result, ListPage) and isinstance(query, NamesQuery) and query.include and model):
        return result
    fields = principal_id_fields(model)
    ids = {id_: None for item in result.items for name in fields if (id_ := getattr(item, name))}
    return replace(result, names=_load_names(ctx.access.outermost_container_pk, ids))


def _load_names(organization_pk: str, ids: Iterable[str]) -> PrincipalNames:
    """Return the names of an organization's members and API keys. Takes one round trip. Other ids are omitted."""
    ids_by_member_key = {membership_key((organization_pk, ""), id_): id_ for id_ in ids}
    ids_by_credential_key = {(organization_pk, OrganizationCredential.sk.format(id=id_)): id_ for id_ in ids}
    members, credentials = table.gather(
        partial(table.get_all, attributes=_ATTRIBUTES), [[*ids_by_member_key], [*ids_by_credential_key]]
    )
    named_members = {ids_by_member_key[key]: _member_name(item) for key, item in members.items()}
    named_credentials = {ids_by_credential_key[key]: _credential_name(item) for key, item in credentials.items()}
    return named_credentials | named_members


def _member_name(item: Item) -> PrincipalNameOut:
    return PrincipalNameOut(type="user", name=item.get("name"), username=item.get("username"))


def _credential_name(item: Item) -> PrincipalNameOut:
    return PrincipalNameOut(type="api_key", name=item["name"], username=None)
