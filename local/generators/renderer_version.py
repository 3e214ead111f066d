"""Computes the version of the page renderer: digests of its code, its templates and its libraries."""

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Final

from chalicelib.features.platforms.models import color_contrast
from chalicelib.kernel.http import fields
from local.paths import ROOT

_FOLDER: Final = ROOT / "chalicelib/features/sites/rendering"
_BLOCK_FILES: Final = (
    "blocks.html.jinja",
    "logic/content.py",
    "logic/limits.py",
    "logic/markdown.py",
    "logic/markdown_parser.py",
    "logic/templates.py",
)
_LAYOUT_FILES: Final = (
    "__init__.py",
    *_BLOCK_FILES,
    "body.html.jinja",
    "logic/page_document.py",
    "logic/stylesheet.py",
    "models/view.py",
    "page.css",
    "page.html.jinja",
)
_LIBRARIES: Final = ("jinja2", "markdown-it-py", "markupsafe", "mdurl", "nh3")
_VERSION_OVERRIDES: Final[Mapping[str, str]] = {
    "3916a9eb40123a8d": "31365661cae525dc",
    "946585716e516322": "76b1c65abd4d2c75",
}
"""Versions to keep for digests of code in which only names changed, so that stored HTML stays valid."""


def renderer_digest() -> str:
    """Return the digest of everything that determines the HTML of blocks. If it changes, blocks are rendered again."""
    sources = [
        fields.LINK.pattern,
        inspect.getsource(fields.fold_case_accents_and_spaces),
        inspect.getsource(fields.has_visible_character),
    ]
    libraries = [f"{name} {version(name)}" for name in _LIBRARIES]
    return _digest([*_files(_BLOCK_FILES), *sources, *libraries])


def layout_digest() -> str:
    """Return the digest of everything that determines the appearance of a page. It is part of the page's ETag."""
    return _digest([renderer_digest(), *_files(_LAYOUT_FILES), inspect.getsource(color_contrast)])


def version_source() -> str:
    """Return the source of the module with both digests."""
    head = '"""The version of the renderer: digests of everything that determines pages. Made by `make generate`."""'
    return (
        f'{head}\n\nfrom typing import Final\n\nRENDERER: Final = "{renderer_digest()}"\n'
        f'"""Digest of everything that determines the HTML of blocks."""\n\n'
        f'LAYOUT: Final = "{layout_digest()}"\n"""Digest of that and of the rest of a page."""\n'
    )


def _files(names: Iterable[str]) -> list[str]:
    return [f"{name} {(_FOLDER / name).read_text()}" for name in names]


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return _VERSION_OVERRIDES.get(digest, digest)
