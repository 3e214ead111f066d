"""Operations on verifications of all logs."""

from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.features.audit.log_verifications.models import LogVerificationOut
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.work import jobs

routes = RouteGroup("system")


@routes.post(
    "/system/log-verifications",
    success=202,
    access=Caller.OPERATOR,
    scope=None,
    emits="system.log_verification.requested",
)
def start_log_verification(ctx: Context) -> LogVerificationOut:
    """Verify the logs of all organizations and of the service itself, in the background.

    Use it after an incident, or regularly as evidence for an auditor. Each log is compared with its signed head and its
    newest anchor, which finds entries that somebody with access to the database changed, removed or added. Poll the
    verification until it is completed. One runs at a time (`limit_exceeded`). After a restore, use the command
    `verify`: it also finds logs that neither an organization nor an anchor names.
    """
    verification = LogVerification(**ctx.new_id_and_time_fields(), lease_until=ctx.now)
    jobs.create_and_enqueue_after_commit(ctx.changes, verification)
    return LogVerificationOut.of(ctx.changes.event(verification))


@routes.get("/system/log-verifications", access=Caller.OPERATOR, scope=None, emits=None)
def list_log_verifications(ctx: Context, query: ListQuery) -> ListPage[LogVerificationOut]:
    """List the verifications of all logs, newest first.

    Use it to see when the logs were last verified, and with which result.
    """
    return ctx.list_records(LogVerification, LogVerification.all_verifications, query, LogVerificationOut.of)


@routes.get("/system/log-verifications/{log_verification_id}", access=Caller.OPERATOR, scope=None, emits=None)
def get_log_verification(_ctx: Context, log_verification: LogVerification) -> LogVerificationOut:
    """Get the progress of a verification of all logs, and what it has found so far.

    Poll it after the start. Many or long logs take some time, because the verification reads every entry.
    """
    return LogVerificationOut.of(log_verification)
