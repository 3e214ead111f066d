"""Content negotiation: the media type that a request prefers (RFC 9110, section 12.5.1)."""

from chalicelib.kernel.http.request import Request

PREFERRING_HTML = [
    *("text/html", "TEXT/HTML", "text/html, application/json", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"),
    *("application/json;q=0.5, text/html;q=0.9", "application/json;q=0, text/html", "*/*;q=0.1, text/html;q=0.2"),
    "text/html;level=1;q=0.4",
]
PREFERRING_JSON = [
    *(None, "", "*/*", "text/*", "application/json", "application/json, text/html", "text/html;q=0.1, */*"),
    *("text/html;q=0", "text/html;q=0.000, */*;q=0", "application/json;q=0.9, text/html;q=0.8", "nonsense, ;;q="),
]


def prefers_html(accept):
    request = Request("GET", "/", {}, {}, {} if accept is None else {"accept": accept}, b"", "r", "192.0.2.7")
    return request.prefers("text/html", other_type="application/json")


def test_html_with_the_higher_weight_or_first_place_is_preferred():
    assert [accept for accept in PREFERRING_HTML + PREFERRING_JSON if prefers_html(accept)] == PREFERRING_HTML
