"""A page of a site as a document of HTML: complete, harmless, and readable by everyone."""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chalicelib.features.rendering import markup
from chalicelib.features.rendering.content import shown
from chalicelib.features.rendering.models import View
from chalicelib.features.rendering.styles import grounds, sheet
from chalicelib.kernel.operation import Document

if TYPE_CHECKING:
    from jinja2 import Environment

_RIGHT_TO_LEFT: Final = re.compile(
    # Languages that are written so unless they name another script, and scripts that are (RFC 5646, section 2.1).
    r"(?:ar|arc|ckb|dv|fa|he|ks|nqo|ps|sd|syr|ug|ur|yi)(?:-(?![a-z]{4}(?:-|$)).*)?"
    r"|[a-z]+(?:-[a-z]{3})*-(?:adlm|arab|aran|hebr|mand|nkoo|rohg|samr|syrc|thaa)(?:-.*)?",
    re.IGNORECASE,
)
_NO_ICON: Final = "data:,"
"""Keeps browsers from asking the host for one."""

_REGIONAL: Final = re.compile(r"[a-z]{2,3}-[A-Z]{2}")


def page(view: View, headers: Mapping[str, str]) -> Document:
    """Return a page as it is sent; `headers` say for whom it is, and for how long.

    Nothing in it runs, nothing can be sent from it, no other page can frame it, and it fetches pictures only. What is
    embedded is a link to where it is: a frame would tell another site of every reader, and show nothing of many.
    """
    style = sheet(view.theme)
    html = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            view=view,
            style=style,
            direction="rtl" if _RIGHT_TO_LEFT.fullmatch(view.lang) else "ltr",
            locale=view.lang.replace("-", "_") if _REGIONAL.fullmatch(view.lang) else None,
            icon=(view.theme or {}).get("favicon_url") or _NO_ICON,
            grounds=grounds(view.theme),
            body=markup.sanitised(_body(view)),
        )
    )
    return Document(html, "text/html; charset=utf-8", {**headers, **_safe(style)})


def _body(view: View) -> str:
    return _environment().get_template("body.html.jinja").render(view=view, blocks=shown(view.blocks, view.title))


def _safe(style: str) -> dict[str, str]:
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{allowed}'; img-src https: http: data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
