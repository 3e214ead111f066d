"""A page of a site as a document of HTML: complete, harmless, and readable by everyone."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from pydantic_core import to_json

from chalicelib.features.sites.rendering.logic import markdown
from chalicelib.features.sites.rendering.logic.stylesheet import backgrounds, stylesheet
from chalicelib.features.sites.rendering.logic.templates import get_template
from chalicelib.features.sites.rendering.models.renderer_version import LAYOUT
from chalicelib.features.sites.rendering.models.view import View
from chalicelib.kernel.execution.conditions import digest_etag
from chalicelib.kernel.operations.results import RawResponse

_RIGHT_TO_LEFT: Final = re.compile(
    # Languages that are written so unless they name another script, and scripts that are (RFC 5646, section 2.1).
    r"(?:ar|arc|ckb|dv|fa|he|ks|nqo|ps|sd|syr|ug|ur|yi)(?:-(?![a-z]{4}(?:-|$)).*)?"
    r"|[a-z]+(?:-[a-z]{3})*-(?:adlm|arab|aran|hebr|mand|nkoo|rohg|samr|syrc|thaa)(?:-.*)?",
    re.IGNORECASE,
)
_NO_ICON: Final = "data:,"
"""Prevents browsers from requesting a favicon from the host."""

_SANDBOX: Final = (
    "sandbox allow-downloads allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"
)
"""Gives a page an opaque origin, without scripts and forms, because it may be served from the origin of the console.

Links of the page can still download files, open other windows without these limits, and start mail or phone programs.
"""

_REGIONAL: Final = re.compile(r"[a-z]{2,3}-[A-Z]{2}")
_BLOCKS: Final = '<div id="_blocks"></div>'
"""Placeholder of the blocks in the template. Text cannot produce it, and no block has this id."""


def render_document(view: View, headers: Mapping[str, str]) -> RawResponse:
    """Return the response with a page, which is rendered when it is sent.

    A page has an opaque origin. It contains no scripts and no forms, cannot be framed, and loads only images. Embeds
    are links: a frame would disclose every reader to another site, and many sites refuse to be framed.
    """
    style = stylesheet(view.theme)
    tag = digest_etag(to_json([LAYOUT, view.etag_inputs, style]))
    return RawResponse(
        lambda: _render_html(view, style), "text/html; charset=utf-8", {**headers, **_security_headers(style)}, tag
    )


def _render_html(view: View, style: str) -> str:
    body_start, _, body_end = markdown.sanitize_html(get_template("body.html.jinja").render(view=view)).partition(
        _BLOCKS
    )
    return get_template("page.html.jinja").render(
        view=view,
        style=style,
        direction="rtl" if _RIGHT_TO_LEFT.fullmatch(view.lang) else "ltr",
        locale=view.lang.replace("-", "_") if _REGIONAL.fullmatch(view.lang) else None,
        icon=(view.theme or {}).get("favicon_url") or _NO_ICON,
        grounds=backgrounds(view.theme),
        above=body_start,
        blocks=view.blocks.html(),
        below=body_end,
    )


def _security_headers(style: str) -> dict[str, str]:
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{allowed}'; img-src https: http: data:; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; {_SANDBOX}",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
