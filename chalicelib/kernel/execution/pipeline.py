"""The pipeline: what surrounds every operation, from the request to the answer, in the order it happens."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from chalicelib.kernel.authorization.access import Access, admit, refuse_kind
from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.clock import now, pause
from chalicelib.kernel.core.logs import report
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution import conditions, envelope
from chalicelib.kernel.execution.context import Context, Effect
from chalicelib.kernel.execution.idempotency import IdempotentRequest
from chalicelib.kernel.execution.rate_limit_subjects import Usage
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.models import Output, Patch, RecordOutput
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity import last_used
from chalicelib.kernel.identity.auth import KeyHolder
from chalicelib.kernel.operations.operation import Document, Moved, Operation, Page
from chalicelib.kernel.rate_limits.buckets import Purse, Scope, Share, said
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.unit_of_work import Taken
from chalicelib.kernel.work import outbox

_PATIENCE_SECONDS: Final = 10.0
_MOST_ATTEMPTS: Final = 20
_PAUSE_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.64
_NOT_MODIFIED: Final = 304
_MOST_STORED_BYTES: Final = 256 * 1024
"""Of an answer that is kept for a repeated request: an item of the table holds 400 KB."""
_AFTER_CONDITIONS: Final = (409, 429)
"""What an operation finds wrong with a record's state: that it is not the one the caller saw comes before."""


def perform(operation: Operation, request: Request) -> Response:
    """Perform an operation and return its answer.

    Raises Problem; nothing has changed then, unless the table did not answer (`unavailable`): then nobody knows.
    """
    _check_version(request)
    usage = Usage.begin(request)
    report(principal="api_key" if isinstance(usage.caller, KeyHolder) else usage.caller.actor["type"])
    try:
        response = _perform(operation, request, usage)
    except Problem as problem:
        usage.refuse(problem)
        raise
    usage.tell(response)
    return response


def _perform(operation: Operation, request: Request, usage: Usage) -> Response:
    caller = usage.caller
    refuse_kind(operation, caller, request.ip)
    once = IdempotentRequest.of(request, caller.id)
    once = once if operation.mutates else None  # What changes nothing can as well be asked for again.
    whose: dict[Scope, str] = {"principal": caller.id, "network": ip_networks.client_network(request.ip)}
    known = _purses(operation, whose)  # That of the organization follows from the place.
    began, attempt, effect = time.monotonic(), 0, Effect()
    while True:
        access = admit(operation, request, caller, [each.key for each in (once, *known) if each])
        usage.accept()
        report(tenant=access.place.log if access.place else None)
        if once and (stored := once.replay(access.read.get(once.key))):
            return stored
        last_used.note(access.principal)
        ctx = _context(operation, request, access, attempt, effect)
        purses = _purses(operation, {**whose, "organization": access.tenant})
        shares = effect.shares or [purse.share(access.read.get(purse.key), ctx.now) for purse in purses]
        try:
            response = _answer(ctx, access, shares)
            for share in shares:
                response.headers = said(response.headers, share)
            _commit(ctx, response, once, [] if operation.irrevocable else shares)
        except ConcurrentModification:
            attempt += 1
            _wait(began, attempt)
        except Taken as taken:
            if once and (stored := once.replay(taken.item)):
                return stored
            raise Problem("idempotency_in_progress", "The same request is under way. Try again in a moment.") from taken
        except Problem as problem:
            # A slug that the caller didn't choose is chosen again, once.
            if not (ctx.derived and problem.code == "slug_taken" and attempt == 0):
                raise
            attempt += 1
        else:
            return response


def _context(operation: Operation, request: Request, access: Access, attempt: int, effect: Effect) -> Context:
    ctx = Context(operation, request, access, now(), attempt, effect)
    ctx.headers |= {"Cache-Control": operation.kept} if operation.kept else {}
    ctx.changes.chains = access.chains
    if operation.grants_access and access.place:
        ctx.fence(access.tenant, access.read, access.decisive)
    return ctx


def _purses(operation: Operation, whose: Mapping[Scope, str]) -> list[Purse]:
    """Return where an operation's requests are counted, as far as it is known whose they are."""
    return [budget.of(whose[budget.per]) for budget in operation.budgets if budget.per in whose]


def _check_version(request: Request) -> None:
    wanted = request.headers.get("api-version")
    if wanted not in (None, API_VERSION):
        detail = f"This service speaks version {API_VERSION}; send that, or no API-Version at all."
        raise Problem.at("header/API-Version", "unknown_api_version", detail)


def _answer(ctx: Context, access: Access, shares: Sequence[Share]) -> Response:
    """Return the answer to a request. A list whose page Lambda would not take ends it before that.

    Such a page is asked for again, with as many items as fit: so its cursor follows from the last of them, however the
    list is read. Raises Problem `limit_exceeded` if not even one item fits, or an answer that is no list.
    """
    while True:
        answer = _handle(ctx, access, shares)
        response = _respond(ctx, answer)
        if envelope.fits(response):
            return response
        fitting = _count_fitting(ctx, answer, response)
        if not fitting:
            raise envelope.too_large(ctx.operation)
        ctx.page_limit = fitting


def _count_fitting(ctx: Context, answer: Any, response: Response) -> int:
    """Return with how many items an answer that is too large is to be asked for again; 0 if that is of no use."""
    if not isinstance(answer, Page) or ctx.operation.mutates or ctx.operation.query is None:
        return 0
    rest = _page(ctx, Page([], answer.next_cursor, answer.beside))
    items = [item if isinstance(item, bytes) else _items(ctx.operation.answer).dump_json([item], by_alias=True)
             for item in answer.items]  # fmt: skip
    fewer = len(items) - 1 if ctx.page_limit is None else ctx.page_limit - 1
    rest.headers = rest.headers | response.headers
    return min(envelope.count_fitting(items, rest), fewer)


def _handle(ctx: Context, access: Access, shares: Sequence[Share]) -> Any:
    operation = ctx.operation
    subject = _subject(operation, access)
    arguments: dict[str, Any] = {name: ctx.request.parameters[name] for name in operation.plain_arguments}
    arguments |= access.records
    if operation.place_argument:
        arguments[operation.place_argument] = access.place
    arguments |= _parsed(ctx, subject)
    if operation.irrevocable:
        _check_condition(ctx, subject)
        ctx.effect.charge(shares)
    try:
        answer = operation.function(ctx, **arguments)
    except Problem as problem:
        if problem.status in _AFTER_CONDITIONS:
            _check_condition(ctx, subject)
        raise
    _check_condition(ctx, subject)
    return answer


def _check_condition(ctx: Context, subject: Entity | None) -> None:
    if ctx.operation.conditional and conditions.check_match(ctx.request, subject) and subject:
        ctx.changes.require(subject)


def _subject(operation: Operation, access: Access) -> Entity | None:
    """Return the record that the path names, if it is there: what conditions and a merge patch are about.

    Of several that is the one that is answered or, where none is, the last.
    """
    if not access.records:
        return access.place
    answered = (
        name for name, kind in operation.records.items() if operation.answer and kind.public is operation.answer
    )
    return access.records[next(answered, [*access.records][-1])]


def _parsed(ctx: Context, subject: Entity | None) -> dict[str, Any]:
    operation = ctx.operation
    parsed: dict[str, Any] = {}
    if operation.query:
        query = validation.query(operation.query, ctx.request)
        parsed["query"] = query.model_copy(update={"limit": ctx.page_limit}) if ctx.page_limit else query
    if operation.method in ("POST", "PUT", "PATCH"):
        body = validation.body(operation.body, ctx.request, _shown(operation, subject), form=operation.form)
        if operation.body:
            validation.refuse_misplaced(operation.body, operation.query, ctx.request)
            parsed["body"] = body
    return parsed


def _shown(operation: Operation, subject: Entity | None) -> Mapping[str, Any] | None:
    """Return what a merge patch is merged into."""
    if subject is None or operation.body is None or not issubclass(operation.body, Patch):
        return None
    shown = outbox.shown(subject)
    return shown[operation.body.part] or {} if operation.body.part else shown


def _respond(ctx: Context, answer: Any) -> Response:
    operation, request = ctx.operation, ctx.request
    status = operation.again if ctx.again and operation.again else operation.success
    if answer is None:
        return Response(status)
    if isinstance(answer, Moved):
        base = request.base if answer.location.startswith("/") else ""
        return Response(answer.status, headers={**ctx.headers, "Location": base + answer.location})
    if isinstance(answer, Document):
        return _document(request, answer, status)
    if isinstance(answer, Page):
        return _page(ctx, answer)
    body = answer.model_dump_json(by_alias=True).encode()
    headers = {"Content-Type": "application/json", **ctx.headers}
    secret = answer.no_store or any(getattr(answer, name) for name in answer.one_time)
    if secret:
        headers["Cache-Control"] = "no-store"
    if isinstance(answer, RecordOutput):
        headers["ETag"] = conditions.entity_tag(answer.id, answer.version, body)
    elif answer.by_content:
        headers["ETag"] = conditions.digest_tag(body)
    if operation.creates and status == operation.success:
        names = {**request.parameters, **ctx.ids}
        listed_at = operation.listed_at.format_map(names) if operation.listed_at else request.path
        name = f"/{getattr(answer, answer.named_by)}" if answer.named_by else ""
        headers["Location"] = request.base + listed_at + name
    return _or_not_modified(ctx, Response(status, body, headers, secret=secret))


def _or_not_modified(ctx: Context, response: Response) -> Response:
    """Return an answer, or 304 in its place if the caller has it already."""
    tag = response.headers.get("ETag")
    if ctx.operation.method == "GET" and tag and conditions.unchanged(ctx.request, tag):
        return Response(_NOT_MODIFIED, headers={**ctx.headers, "ETag": tag})
    return response


def _document(request: Request, answer: Document, status: int) -> Response:
    body = b"" if answer.tag else answer.text.encode()
    tag = answer.tag or conditions.digest_tag(body)
    headers = {**answer.headers, "ETag": tag}
    if request.method == "GET" and conditions.unchanged(request, tag):
        return Response(_NOT_MODIFIED, headers=headers)
    return Response(status, body or answer.text.encode(), {"Content-Type": answer.content_type, **headers})


def _page(ctx: Context, page: Page[Any]) -> Response:
    operation, request = ctx.operation, ctx.request
    ready = [item for item in page.items if isinstance(item, bytes)]
    listed = b"[" + b",".join(ready) + b"]" if ready else _items(operation.answer).dump_json(page.items, by_alias=True)
    beside = b"," + page.beside.model_dump_json(by_alias=True).encode()[1:-1] if page.beside else b""
    body = b'{"items":' + listed + b',"nextCursor":' + to_json(page.next_cursor) + beside + b"}"
    headers = {"Content-Type": "application/json", **ctx.headers}
    if operation.answer and operation.answer.no_store:
        headers["Cache-Control"] = "no-store"
    if page.next_cursor:
        headers["Link"] = f'<{request.url(cursor=page.next_cursor)}>; rel="next"'
    if operation.tagged:
        headers["ETag"] = conditions.digest_tag(body)
    return _or_not_modified(ctx, Response(operation.success, body, headers))


@cache
def _items(item: type[Output] | None) -> TypeAdapter[Any]:
    return TypeAdapter(list[item])  # type: ignore[valid-type]


def _commit(ctx: Context, response: Response, once: IdempotentRequest | None, shares: Sequence[Share]) -> None:
    first, told = once.write(response) if once else None, not ctx.changes.empty
    if first and not told and len(response.body) > _MOST_STORED_BYTES:
        first = None  # It changed nothing: it can as well be asked for again.
    for share in shares:
        ctx.changes.also(share.write())
    if told:
        if kinds := ctx.changes.unfenced:
            raise ValueError(f"{ctx.operation.id} changes {sorted(kinds)}: declare `grants_access=True`")
        outbox.commit(ctx.changes, ctx.changes.event or ctx.operation.emits[0], ctx.origin, first)
    elif first or shares:
        ctx.changes.commit(first)


def _wait(began: float, attempt: int) -> None:
    """Wait before the work is done again: once at least, and so long that 50 at one item all have their turn.

    The pauses have full jitter.

    Raises Problem `conflict`.
    """
    left = began + _PATIENCE_SECONDS - time.monotonic()
    if (left <= 0 and attempt > 1) or attempt >= _MOST_ATTEMPTS:
        raise Problem("conflict", "Others keep changing it at this moment. Try again.", headers={"Retry-After": "1"})
    pause(attempt, first=_PAUSE_SECONDS, most=max(0, min(left, _LONGEST_PAUSE_SECONDS)))
