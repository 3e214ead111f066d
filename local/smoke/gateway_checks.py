"""Checks of what API Gateway and the service do together, without any record."""

import statistics
import time
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from chalicelib.kernel.core.version import API_VERSION, VERSION
from chalicelib.kernel.http.request import REMAPPED_WWW_AUTHENTICATE
from local.smoke.target import DEPLOY_REMEDY, CheckSkipped, Target, require, require_problem

_UNKNOWN_PATH: Final = "/no-such-path"
_LARGE_BODY_BYTES: Final = 1_100_000
_LATENCY_REQUESTS: Final = 10
_MAX_MEDIAN_SECONDS: Final = 1.0


def check_status(target: Target) -> str:
    """Check that the service is healthy and runs this release."""
    status = target.request("GET", "/status", status=HTTPStatus.OK).json()
    details = [f"{check['name']}: {check['detail']}" for check in status["checks"] if check["status"] != "ok"]
    require(status["status"] == "ok", f"The service is degraded. {' '.join(details)}", "docs/operations/running.md")
    require(status["version"] == VERSION, f"It runs version {status['version']}, and this is {VERSION}.", DEPLOY_REMEDY)
    return f"Version {VERSION} is healthy."


def check_address(target: Target) -> str:
    """Check that a deployed stage is reached by HTTPS."""
    if target.stage is None:
        raise CheckSkipped("A run on this machine has no certificate.")
    require(urlsplit(target.url).scheme == "https", f"{target.url} is not an https URL.", "Correct PUBLIC_URL.")
    return f"{target.url} has a valid certificate."


def check_common_headers(target: Target) -> str:
    """Check the headers that every response has."""
    headers = target.request("GET", "/status", status=HTTPStatus.OK).headers
    require(headers.get("API-Version") == API_VERSION, f"API-Version is {headers.get('API-Version')!r}.")
    require(headers.get("X-Request-Id"), "X-Request-Id is missing.")
    return f"API-Version is {API_VERSION}, and X-Request-Id is set."


def check_unknown_path(target: Target) -> str:
    """Check that an unknown path is a problem of the service's own format."""
    require_problem(target.request("GET", _UNKNOWN_PATH), 404, "no_such_route")
    return "It is 404 as a problem document."


def check_unknown_path_with_token(target: Target) -> str:
    """Check that API Gateway does not treat a token at an unknown path as an invalid signature."""
    require_problem(target.request("GET", _UNKNOWN_PATH, credential=target.token), 404, "no_such_route")
    return "It is 404 with a token, too."


def check_unknown_path_with_other_credential(target: Target) -> str:
    """Check the same for a credential of another scheme."""
    response = target.request("GET", _UNKNOWN_PATH, headers={"Authorization": "Basic YTpi"})
    require_problem(response, 404, "no_such_route")
    return "It is 404 with `Basic`, too."


def check_missing_credential(target: Target) -> str:
    """Check the challenge of a 401 response, which API Gateway renames."""
    response = target.request("GET", "/organizations")
    require_problem(response, 401, "unauthenticated")
    names = ("WWW-Authenticate", REMAPPED_WWW_AUTHENTICATE)
    present = [name for name in names if response.headers.get(name, "").startswith("Bearer")]
    require(present, f"The 401 response has no challenge in {names[0]} or {names[1]}.")
    return f"It is 401 with a challenge in {present[0]}."


def check_exposed_challenge(target: Target) -> str:
    """Check that scripts of other origins can read the challenge under both names."""
    response = target.request("GET", "/organizations", headers={"Origin": "https://app.example.com"})
    _require_listed(response, "Access-Control-Expose-Headers", "WWW-Authenticate", REMAPPED_WWW_AUTHENTICATE)
    return "Scripts can read both names of the challenge."


def check_invalid_token(target: Target) -> str:
    """Check that a token that nobody signed is rejected."""
    require_problem(target.request("GET", "/organizations", credential="e30.e30.e30"), 401, "unauthenticated")
    return "It is 401."


def check_user_token(target: Target) -> str:
    """Check that the service accepts the user's token."""
    response = target.request("GET", "/organizations", credential=target.token)
    remedy = "`make doctor STAGE=... < token.txt` explains why a token is rejected."
    is_list = response.status_code == HTTPStatus.OK and isinstance(response.json()["items"], list)
    require(is_list, f"The token was rejected: {response.text[:300]}", remedy)
    return "The service accepts the token."


def check_wrong_method(target: Target) -> str:
    """Check that a method that callers guess is 405 with the allowed ones."""
    response = target.request("PUT", f"/organizations/{uuid4()}")
    require_problem(response, 405, "method_not_allowed")
    require("PATCH" in response.headers.get("Allow", ""), f"Allow is {response.headers.get('Allow')!r}.")
    return "PUT of an organization is 405, and Allow names PATCH."


def check_malformed_json(target: Target) -> str:
    """Check that a body that is not JSON is rejected by the service."""
    headers = {"Content-Type": "application/json"}
    response = target.request("POST", "/organizations", credential=target.token, content=b"{", headers=headers)
    require_problem(response, 400, "malformed_json")
    return "It is 400."


def check_media_type(target: Target) -> str:
    """Check that a body of another media type is rejected."""
    headers = {"Content-Type": "text/plain"}
    response = target.request("POST", "/organizations", credential=target.token, content=b"{}", headers=headers)
    require_problem(response, 415, "unsupported_media_type")
    return "It is 415."


def check_large_body(target: Target) -> str:
    """Check that a body above the limit is rejected."""
    body = {"name": "x" * _LARGE_BODY_BYTES}
    require_problem(
        target.request("POST", "/organizations", credential=target.token, json=body), 413, "payload_too_large"
    )
    return "It is 413."


def check_invalid_field(target: Target) -> str:
    """Check that an invalid body is rejected with a pointer to the field."""
    response = target.request("POST", "/organizations", credential=target.token, json={"name": ""})
    require_problem(response, 422, "validation_failed")
    pointers = [error["pointer"] for error in response.json()["errors"]]
    require(pointers == ["/name"], f"The pointers are {pointers}.")
    return "It is 422 with a pointer to the field."


def check_preflight(target: Target) -> str:
    """Check that browsers may send requests with a credential from other origins."""
    headers = {
        "Origin": "https://app.example.com",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
    }
    response = target.request("OPTIONS", "/organizations", headers=headers)
    require(response.is_success, f"The preflight request responded with {response.status_code}.", DEPLOY_REMEDY)
    _require_listed(response, "Access-Control-Allow-Headers", "Authorization", "Content-Type", "Idempotency-Key")
    return "Other origins may send a credential and an Idempotency-Key."


def check_compression(target: Target) -> str:
    """Check that large responses are compressed for clients that accept that."""
    compressed = target.request("GET", "/openapi.json", headers={"Accept-Encoding": "gzip"}, status=HTTPStatus.OK)
    require(compressed.headers.get("Content-Encoding") == "gzip", "/openapi.json is not compressed.", DEPLOY_REMEDY)
    plain = target.request("GET", "/openapi.json", headers={"Accept-Encoding": "identity"}, status=HTTPStatus.OK)
    require("Content-Encoding" not in plain.headers, "/openapi.json is compressed for clients that do not accept it.")
    require(plain.content == compressed.content, "The compressed document differs from the other one.")
    return f"/openapi.json arrives in {compressed.num_bytes_downloaded:,} bytes instead of {len(plain.content):,}."


def check_conditional_request(target: Target) -> str:
    """Check that an unchanged record is not sent again."""
    etag = target.request("GET", "/reference/countries/DE", status=HTTPStatus.OK).headers.get("ETag", "")
    require(etag.startswith('"'), f"ETag is {etag!r}, which is not a strong one.")
    headers = {"If-None-Match": etag}
    target.request("GET", "/reference/countries/DE", headers=headers, status=HTTPStatus.NOT_MODIFIED)
    return "If-None-Match is 304."


def check_reference_data(target: Target) -> str:
    """Check that the migrations have stored the reference data, and that paths with special characters arrive."""
    zone = target.request("GET", "/reference/timezones/Europe%2FBerlin", status=HTTPStatus.OK).json()
    require(zone["id"] == "Europe.Berlin", f"The time zone is {zone['id']!r}.")
    return "The migrations stored it, and an encoded slash in a path arrives."


def check_latency(target: Target) -> str:
    """Check the time that a warm request takes from this machine."""
    seconds = []
    for _ in range(_LATENCY_REQUESTS):
        start = time.monotonic()
        country = target.request("GET", "/reference/countries/DE", status=HTTPStatus.OK)
        seconds.append(time.monotonic() - start)
        require(country.json()["id"] == "DE", f"It is another country: {country.text[:300]}")
    median = statistics.median(seconds)
    text = (
        f"{_LATENCY_REQUESTS} requests took {1000 * median:.0f} ms in the median, {1000 * max(seconds):.0f} ms at most."
    )
    require(median <= _MAX_MEDIAN_SECONDS, text, "Check the region of the stage and the memory of `api_handler`.")
    return text


def _require_listed(response: httpx.Response, header: str, *names: str) -> None:
    """Raise CheckFailed if a header that lists names of headers lacks some of these."""
    listed = {name.strip().lower() for name in response.headers.get(header, "").split(",")}
    missing = [name for name in names if name.lower() not in listed]
    require(not missing, f"{header} lacks {', '.join(missing)}.", DEPLOY_REMEDY)
