"""Operations on the dead-letter queues. The command `redrive` shares their code."""

from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.features.admin.dead_letters.logic import list_dead_letter_queues
from chalicelib.features.admin.dead_letters.models import DeadLettersOut, RedriveCreate, RedriveOut
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.work import jobs

routes = RouteGroup("system")


@routes.get("/system/dead-letters", access=Caller.OPERATOR, scope=None, emits=None)
def list_dead_letters(_ctx: Context) -> DeadLettersOut:
    """List the dead-letter queues, each with the number of its messages and the first ten of them.

    Use it when an alarm `dead-letters-…` is active, to see which work fails. The messages stay where they are. SQS
    counts each look in `receiveCount`. It does not say how old the oldest message of a queue is, so `oldestSentAt`
    refers to the messages shown.
    """
    return DeadLettersOut(queues=list_dead_letter_queues())


@routes.post(
    "/system/dead-letters/redrive",
    success=202,
    access=Caller.OPERATOR,
    scope=None,
    emits="system.dead_letter_redrive.requested",
)
def redrive_dead_letters(ctx: Context, body: RedriveCreate) -> RedriveOut:
    """Send the dead letters of a queue back to it in the background, so that their work is tried again.

    Remove the cause of the failures first, then poll the redrive until it is completed. Messages that this release
    cannot process are skipped. Those that fail again return after five attempts, and the redrive leaves them there. No
    message is lost: each is sent first and then deleted, so it can arrive twice after an interruption, which every task
    allows. At most 4 redrives run at a time (`limit_exceeded`).
    """
    redrive = DeadLetterRedrive(
        **ctx.new_id_and_time_fields(), queue=body.queue, max_messages=body.max_messages, lease_until=ctx.now
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, redrive)
    return RedriveOut.of(ctx.changes.event(redrive))


@routes.get("/system/dead-letters/redrive", access=Caller.OPERATOR, scope=None, emits=None)
def list_dead_letter_redrives(ctx: Context, query: ListQuery) -> ListPage[RedriveOut]:
    """List the redrives that operators requested, newest first.

    Use it to see who works on a queue, and how the last redrives ended. The command `redrive` does not appear here.
    """
    return ctx.list_records(DeadLetterRedrive, DeadLetterRedrive.all_redrives, query, RedriveOut.of)


@routes.get("/system/dead-letters/redrive/{redrive_id}", access=Caller.OPERATOR, scope=None, emits=None)
def get_dead_letter_redrive(_ctx: Context, redrive: DeadLetterRedrive) -> RedriveOut:
    """Get a redrive, with the number of messages that it has sent back so far.

    Poll it after the start until `status` is `completed` or `failed`.
    """
    return RedriveOut.of(redrive)
