"""Limits the holder of a signed link to the record of the link and to the current rights of its creator."""

from dataclasses import replace

from chalicelib.kernel.authorization.decisions import Decision
from chalicelib.kernel.authorization.effective_role import EffectiveRole
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity.auth import Principal
from chalicelib.kernel.identity.signed_links import LinkHolder, SignedLink, ended_link
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.operations.link_types import LinkType
from chalicelib.kernel.storage.entity import ItemKey


def limit_to_linked_record(request_input: RequestInput, link: SignedLink) -> tuple[RequestInput, ItemKey]:
    """Return the request as the creator of a link would have to send it, and the key of the record of the link.

    The operation requires the role that creates such links, and the record is that of the link, also if the path names
    none. Raises Problem `forbidden` if the path names another record.
    """
    operation, request = request_input.operation, request_input.request
    link_type = _get_link_type(request_input, link)
    parameters = link_type.path_parameters(link)
    if any(request.parameters.get(name, value) != value for name, value in parameters.items()):
        raise Problem("forbidden", "The link is for another record. `GET /signed-link` says for which one.")
    limited = RequestInput(
        replace(operation, access=link_type.access), replace(request, parameters={**request.parameters, **parameters})
    )
    return limited, link_type.record_key(link)


def _get_link_type(request_input: RequestInput, link: SignedLink) -> LinkType:
    return next(each for each in request_input.operation.link_types if each.name == link.type)


def name_creator_or_reject(
    principal: Principal, decision: Decision | None, effective: EffectiveRole, record_key: ItemKey
) -> Principal:
    """Return the holder of a link with the name of its creator. Other principals stay as they are.

    `record_key`: the key of the record of the link. Raises Problem `unauthenticated` if the creator may no longer do
    what the link allows, or if the record is gone.
    """
    if not isinstance(principal, LinkHolder):
        return principal
    if decision is None or decision.problem or record_key not in effective.loaded.items:
        raise ended_link()
    return principal.with_creator(next(iter(effective.memberships.memberships.values())))
