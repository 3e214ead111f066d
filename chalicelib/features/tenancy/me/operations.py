"""Operations that describe the caller, and list and answer the invitations to them."""

from chalicelib.features.tenancy.invitations.logic.invitation_resolution import (
    InvitationToCaller,
    resolve_invitation_to_caller,
)
from chalicelib.features.tenancy.invitations.logic.responses import RESPONSE_EVENTS, record_decision_once
from chalicelib.features.tenancy.invitations.models import AcceptanceOut, InvitationDecision
from chalicelib.features.tenancy.me.logic.caller_description import describe_key, describe_user
from chalicelib.features.tenancy.me.logic.pending_invitations import list_acceptable_invitations
from chalicelib.features.tenancy.me.models import InvitationOfCaller, Me
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, ServiceKeyPrincipal
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("me")


@routes.get("/me", access=Caller.PRINCIPAL, scope=None, emits=None, allows_service_keys=True)
def get_me(ctx: Context) -> Me:
    """Get the caller: their id, names and address, their credential, their organizations and pending invitations.

    Use it to see what the service reads from a token, or what an API key or service key may do. Keys need no scope.
    """
    principal = ctx.principal_or_anonymous
    if isinstance(principal, ApiKeyPrincipal | ServiceKeyPrincipal):
        return describe_key(ctx, principal)
    return describe_user(ctx, ctx.user)


@routes.get("/me/invitations", access=Caller.USER, scope=None, emits=None)
def list_my_invitations(ctx: Context, query: ListQuery) -> ListPage[InvitationOfCaller]:
    """List the invitations to the caller's verified e-mail address that they can accept now, newest first.

    Use it to let people answer invitations after they have signed in, without the mail. Without a verified address the
    list is empty; `GET /me` shows which address the token has. A page may be short or empty. The list ends when
    `nextCursor` is null.
    """
    return list_acceptable_invitations(ctx, query)


@routes.post(
    "/me/invitations/{invitation_id}",
    success=200,
    access=Caller.USER,
    scope=None,
    emits=RESPONSE_EVENTS,
    grants_access=True,
)
def respond_to_my_invitation(
    ctx: Context, invitation_id: Uuid, body: InvitationDecision, invitation: InvitationToCaller
) -> AcceptanceOut:
    """Accept or decline an invitation to the caller's verified e-mail address, without the link in the mail.

    Problems:

    - `not_found`: There is no such invitation to the address, or it expired some days ago.
    - `email_mismatch`: The caller has no verified address. The detail says why.
    - `invitation_revoked`: It was revoked, or its sender could not grant the role today.
    - `invitation_used`: It was accepted or declined before. The person who decided can repeat the same decision until
      the invitation expires: the response is 200 with the same body, as long as an accepted membership exists.
    - `invitation_expired`: It has expired. The detail has the time.
    - `already_member`: The user is a member with a lower role. Invitations do not change roles.
    """
    resolved = resolve_invitation_to_caller(invitation_id, ctx.user, invitation)
    return record_decision_once(ctx, resolved, ctx.user, body.decision)
