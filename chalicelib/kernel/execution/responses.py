"""Builds the response to a request from the result of its handler."""

from dataclasses import replace
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from chalicelib.kernel.execution import conditions, envelope
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.operations.results import ErrorDocument, ListPage, RawResponse, Redirect, SerializedOutput

_NOT_MODIFIED: Final = 304


def build_response(ctx: Context, result: Any) -> Response:
    """Return the response to a request. `result`: what its handler returned."""
    request, status = ctx.request, _success_status(ctx)
    if result is None:
        return Response(status)
    if isinstance(result, Redirect):
        base = request.base if result.location.startswith("/") and not result.is_of_other_host else ""
        return Response(result.status, headers={**ctx.headers, "Location": base + result.location})
    if isinstance(result, RawResponse):
        return _build_raw_or_not_modified_response(request, result, status)
    if isinstance(result, ListPage):
        return _build_page_response(ctx, result)
    if isinstance(result, SerializedOutput):
        is_secret = bool((model := ctx.operation.response_or_item_model) and model.no_store)
        return Response(status, result.body, _json_headers(ctx), secret=is_secret)
    body = result.model_dump_json(by_alias=True).encode()
    headers = {"Content-Type": "application/json", **ctx.headers}
    secret = result.no_store or any(getattr(result, name) for name in result.secret_fields)
    if secret:
        headers["Cache-Control"] = "no-store"
    if result.record_identity:
        record_id, version = result.record_identity
        headers["ETag"] = conditions.record_etag(record_id, version, body)
    elif result.content_etag:
        headers["ETag"] = conditions.digest_etag(body)
    headers |= _location_header(ctx, status, result.id_field and str(getattr(result, result.id_field, "")))
    return _apply_if_none_match(ctx, Response(status, body, headers, secret=secret))


def _success_status(ctx: Context) -> int:
    operation = ctx.operation
    special_status = (ctx.already_existed and operation.existing_status) or (
        ctx.was_created and operation.created_status
    )
    return special_status or operation.success


def _location_header(ctx: Context, status: int, record_id: str) -> dict[str, str]:
    """Return the header with the URL of the record that was created. `record_id`: empty for a singleton."""
    operation, request = ctx.operation, ctx.request
    if status == operation.created_status:
        return {"Location": request.base + request.path}
    if not operation.has_location or status != operation.success:
        return {}
    path_values = {**request.parameters, **ctx.container_ids_by_parameter}
    collection_path = operation.collection_path.format_map(path_values) if operation.collection_path else request.path
    return {"Location": request.base + collection_path + (f"/{record_id}" if record_id else "")}


def _apply_if_none_match(ctx: Context, response: Response) -> Response:
    """Return the response, or 304 if its tag is in the request's `If-None-Match`."""
    tag = response.headers.get("ETag")
    if ctx.operation.method == "GET" and tag and conditions.if_none_match(ctx.request, tag):
        cache_control = {name: value for name, value in response.headers.items() if name == "Cache-Control"}
        return Response(_NOT_MODIFIED, headers={**ctx.headers, **cache_control, "ETag": tag})
    return response


def _build_raw_or_not_modified_response(request: Request, raw: RawResponse, status: int) -> Response:
    if isinstance(raw, ErrorDocument):
        return Response(raw.status, raw.text.encode(), {"Content-Type": raw.content_type, **raw.headers})
    body = b"" if raw.tag else raw.text.encode()
    tag = raw.tag or conditions.digest_etag(body)
    headers = {**raw.headers, "ETag": tag}
    if request.method == "GET" and conditions.if_none_match(request, tag):
        return Response(_NOT_MODIFIED, headers=headers)
    return Response(status, body or raw.text.encode(), {"Content-Type": raw.content_type, **headers})


def _build_page_response(ctx: Context, page: ListPage[Any]) -> Response:
    operation, request = ctx.operation, ctx.request
    serialized_items = [item for item in page.items if isinstance(item, bytes)]
    items_json = (
        b"[" + b",".join(serialized_items) + b"]"
        if serialized_items
        else _list_type_adapter(operation.response_or_item_model).dump_json(page.items, by_alias=True)
    )
    metadata = b"," + page.metadata.model_dump_json(by_alias=True).encode()[1:-1] if page.metadata else b""
    names = b"" if page.names is None else b',"names":' + to_json(page.names, by_alias=True)
    body = b'{"items":' + items_json + b',"nextCursor":' + to_json(page.next_cursor) + metadata + names + b"}"
    headers = _json_headers(ctx)
    if page.next_cursor:
        headers["Link"] = f'<{request.path_with_changed_query(cursor=page.next_cursor)}>; rel="next"'
    if operation.has_list_etag:
        headers["ETag"] = conditions.digest_etag(body)
    return _apply_if_none_match(ctx, Response(operation.success, body, headers))


def _json_headers(ctx: Context) -> dict[str, str]:
    """Return the headers of a response whose JSON exists already, or of a list."""
    headers = {"Content-Type": "application/json", **ctx.headers}
    model = ctx.operation.response_or_item_model
    return headers | ({"Cache-Control": "no-store"} if model and model.no_store else {})


def reduced_page_limit_or_zero(ctx: Context, result: Any, response: Response) -> int:
    """Return how many items a response that is too large can have, or 0 if fewer items do not help."""
    if not isinstance(result, ListPage) or ctx.operation.emits_events or ctx.operation.query_model is None:
        return 0
    empty_page = _build_page_response(ctx, replace(result, items=[]))
    items = [
        item
        if isinstance(item, bytes)
        else _list_type_adapter(ctx.operation.response_or_item_model).dump_json([item], by_alias=True)
        for item in result.items
    ]
    max_items = len(items) - 1 if ctx.page_limit is None else ctx.page_limit - 1
    empty_page.headers = empty_page.headers | response.headers
    return max(0, min(envelope.count_fitting_items(items, empty_page), max_items))


@cache
def _list_type_adapter(item: type[Output] | None) -> TypeAdapter[Any]:
    return TypeAdapter(list[item])  # type: ignore[valid-type]
