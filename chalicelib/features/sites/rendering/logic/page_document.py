"""A page of a site as a document of HTML: complete, harmless, and readable by everyone."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from pydantic_core import to_json

from chalicelib.features.sites.rendering.logic import markdown
from chalicelib.features.sites.rendering.logic.stylesheet import grounds, sheet
from chalicelib.features.sites.rendering.logic.templates import template
from chalicelib.features.sites.rendering.models.renderer_version import LAYOUT
from chalicelib.features.sites.rendering.models.view import View
from chalicelib.kernel.execution.conditions import digest_tag
from chalicelib.kernel.operations.results import RawResponse

_RIGHT_TO_LEFT: Final = re.compile(
    # Languages that are written so unless they name another script, and scripts that are (RFC 5646, section 2.1).
    r"(?:ar|arc|ckb|dv|fa|he|ks|nqo|ps|sd|syr|ug|ur|yi)(?:-(?![a-z]{4}(?:-|$)).*)?"
    r"|[a-z]+(?:-[a-z]{3})*-(?:adlm|arab|aran|hebr|mand|nkoo|rohg|samr|syrc|thaa)(?:-.*)?",
    re.IGNORECASE,
)
_NO_ICON: Final = "data:,"
"""Keeps browsers from asking the host for one."""

_REGIONAL: Final = re.compile(r"[a-z]{2,3}-[A-Z]{2}")
_BLOCKS: Final = '<div id="_blocks"></div>'
"""Where the template leaves room for the blocks. No text can say it, and no block has this id."""


def page(view: View, headers: Mapping[str, str]) -> RawResponse:
    """Return a page as it is sent; `headers` say for whom it is, and for how long. It is written once it is asked for.

    Nothing in it runs, nothing can be sent from it, no other page can frame it, and it fetches pictures only. What is
    embedded is a link to where it is: a frame would tell another site of every reader, and show nothing of many.
    """
    style = sheet(view.theme)
    tag = digest_tag(to_json([LAYOUT, view.made_of, style]))
    return RawResponse(lambda: _written(view, style), "text/html; charset=utf-8", {**headers, **_safe(style)}, tag)


def _written(view: View, style: str) -> str:
    above, _, below = markdown.sanitised(template("body.html.jinja").render(view=view)).partition(_BLOCKS)
    return template("page.html.jinja").render(
        view=view,
        style=style,
        direction="rtl" if _RIGHT_TO_LEFT.fullmatch(view.lang) else "ltr",
        locale=view.lang.replace("-", "_") if _REGIONAL.fullmatch(view.lang) else None,
        icon=(view.theme or {}).get("favicon_url") or _NO_ICON,
        grounds=grounds(view.theme),
        above=above,
        blocks=view.blocks.html(),
        below=below,
    )


def _safe(style: str) -> dict[str, str]:
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{allowed}'; img-src https: http: data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
