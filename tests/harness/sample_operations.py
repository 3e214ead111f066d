"""A sample record that belongs to no organization, and operations of operators on it."""

import json
from typing import Any, ClassVar
from uuid import uuid4

from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.pipeline import execute_or_raise_problem
from chalicelib.kernel.http.models import Input, Patch, RecordOutput
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage.entity import KINDS, Entity
from chalicelib.kernel.storage.log_ids import system_log_id
from tests.harness import callers
from tests.harness.pending_entries import build_event


class NoticeOut(RecordOutput):
    text: str


class Notice(Entity):
    """A notice of the operators to all users."""

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
    notice = Notice(**ctx.new_id_and_time_fields(), **body.to_stored_fields_with_defaults())
    return NoticeOut.of(ctx.changes.event(ctx.changes.create(notice)))


@routes.patch("/notices/{notice_id}", access=Caller.OPERATOR, scope=None, emits="notice.revised")
def revise_notice(ctx: Context, notice: Notice, body: NoticePatch) -> NoticeOut:
    """Change the text of a notice."""
    ctx.changes.event(notice)
    return NoticeOut.of(ctx.changes.update(notice, **body.to_stored_fields_with_defaults()))


def create_notice(operator: callers.Person, text: str = "Closed on Sunday") -> str:
    """Post a notice as an operator, and return its id."""
    return str(_execute(post_notice, operator, {"text": text})["id"])


def update_notice(operator: callers.Person, notice_id: str, text: str) -> None:
    _execute(revise_notice, operator, {"text": text}, notice_id=notice_id)


def _execute(operation: Operation, operator: callers.Person, body: Any, **parameters: str) -> Any:
    headers = {"authorization": f"Bearer {operator.credential}", "content-type": "application/json"}
    path = operation.path.format_map(parameters)
    encoded_body = json.dumps(body).encode()
    request = Request(operation.method, path, parameters, {}, headers, encoded_body, id=str(uuid4()), ip="192.0.2.7")
    return json.loads(execute_or_raise_problem(operation, request).body)


def build_notice_event() -> Event:
    """Return the event of a notice that is not stored."""
    notice_id = new_id(now())
    target = {"type": "notice", "id": notice_id, "name": notice_id}
    return build_event("notice.posted", system_log_id(notice_id), target, {"id": notice_id})
