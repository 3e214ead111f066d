"""A record of the tests' own that belongs to no organization, and what operators do to it as in a request."""

import json
from typing import Any, ClassVar
from uuid import uuid4

from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.pipeline import execute
from chalicelib.kernel.http.models import Input, Patch, RecordOutput
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage.entity import KINDS, Entity, system_log
from tests.harness import callers
from tests.harness.stored_records import beginning


class NoticeOut(RecordOutput):
    text: str


class Notice(Entity):
    """Something that operators tell everyone."""

    kind, parameter = "notice", "notice_id"
    pk, sk = "N#{id}", "#"
    output_model: ClassVar[type[NoticeOut]] = NoticeOut

    text: str


del KINDS["notice"]


class NoticeBody(Input):
    text: str


class NoticePatch(Patch):
    text: str


routes = RouteGroup("notices")


@routes.post("/notices", access=Caller.OPERATOR, scope=None, emits="notice.posted")
def post_notice(ctx: Context, body: NoticeBody) -> NoticeOut:
    """Post a notice."""
    return NoticeOut.of(ctx.changes.create(Notice(**ctx.new_record_fields(), **body.fields())))


@routes.patch("/notices/{notice_id}", access=Caller.OPERATOR, scope=None, emits="notice.revised")
def revise_notice(ctx: Context, notice: Notice, body: NoticePatch) -> NoticeOut:
    """Change what a notice says."""
    return NoticeOut.of(ctx.changes.update(notice, **body.fields()))


def post(operator: callers.Person, text: str = "Closed on Sunday") -> str:
    """Let an operator post a notice; return its id."""
    return str(_done(post_notice, operator, {"text": text})["id"])


def revise(operator: callers.Person, notice_id: str, text: str) -> None:
    """Let an operator change what a notice says."""
    _done(revise_notice, operator, {"text": text}, notice_id=notice_id)


def _done(operation: Operation, operator: callers.Person, body: Any, **parameters: str) -> Any:
    headers = {"authorization": f"Bearer {operator.credential}", "content-type": "application/json"}
    path = operation.path.format_map(parameters)
    sent = json.dumps(body).encode()
    request = Request(operation.method, path, parameters, {}, headers, sent, id=str(uuid4()), ip="192.0.2.7")
    return json.loads(execute(operation, request).body)


def posting() -> Event:
    """Return the event of a notice that nobody has posted."""
    moment = now()
    notice_id = str(beginning(moment)["id"])
    return Event(
        id=new_id(moment),
        type="notice.posted",
        occurred_at=moment,
        log=system_log(notice_id),
        actor={"type": "system", "id": None, "name": None},
        target={"type": "notice", "id": notice_id, "name": notice_id},
        context={"operationId": "crowd", "requestId": None, "ipAddress": None, "userAgent": None},
        changes=[],
        data={"id": notice_id},
    )
