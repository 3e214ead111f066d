"""Content negotiation: the media type that a request prefers (RFC 9110, section 12.5.1)."""

import pytest

from chalicelib.kernel.http.request import Request

HTML, JSON = "text/html", "application/json"


def prefers_html(accept: str | None) -> bool:
    headers = {} if accept is None else {"accept": accept}
    return Request("GET", "/", {}, {}, headers, b"", "r", "192.0.2.7").prefers(HTML, other_type=JSON)


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "TEXT/HTML",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, application/json",
        "application/json;q=0.5, text/html;q=0.9",
        "text/html;level=1;q=0.4",
        "application/json;q=0, text/html",
        "*/*;q=0.1, text/html;q=0.2",
    ],
)
def test_html_with_the_higher_weight_or_first_place_is_preferred(accept):
    assert prefers_html(accept)


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "text/*",
        "application/json",
        "application/json, text/html",
        "text/html;q=0.1, */*",
        "text/html;q=0",
        "text/html;q=0.000, */*;q=0",
        "application/json;q=0.9, text/html;q=0.8",
        "nonsense, ;;q=",
    ],
)
def test_html_with_a_lower_weight_or_without_mention_is_not_preferred(accept):
    assert not prefers_html(accept)
