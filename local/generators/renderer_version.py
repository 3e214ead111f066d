"""The renderer's version: digests of its code, its templates, and the libraries that it is made with."""

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Final

from chalicelib.features.platforms.models import color_contrast
from chalicelib.kernel.http import fields
from local.paths import ROOT

_FOLDER: Final = ROOT / "chalicelib/features/sites/rendering"
_BLOCK_SOURCES: Final = (
    "blocks.html.jinja",
    "logic/content.py",
    "logic/limits.py",
    "logic/markdown.py",
    "logic/markdown_parser.py",
    "logic/templates.py",
)
_LAYOUT_SOURCES: Final = (
    "__init__.py",
    *_BLOCK_SOURCES,
    "body.html.jinja",
    "logic/page_document.py",
    "logic/stylesheet.py",
    "models/view.py",
    "page.css",
    "page.html.jinja",
)
_LIBRARIES: Final = ("jinja2", "markdown-it-py", "markupsafe", "mdurl", "nh3")
_RENAMED: Final[Mapping[str, str]] = {
    "d4d60ebd1e18efc9": "31365661cae525dc",
    "55a7965089128ad4": "76b1c65abd4d2c75",
}
"""Digests of code in which only names changed, and the versions that they keep: stored HTML stays valid."""


def renderer() -> str:
    """Return the digest of all that decides which HTML blocks become: if it is another, they are rendered anew."""
    words = [fields.LINK.pattern, inspect.getsource(fields.fold_text), inspect.getsource(fields.is_visible)]
    libraries = [f"{name} {version(name)}" for name in _LIBRARIES]
    return _digest([*_files(_BLOCK_SOURCES), *words, *libraries])


def layout() -> str:
    """Return the digest of all that decides how a page looks that has these blocks: part of its entity tag."""
    return _digest([renderer(), *_files(_LAYOUT_SOURCES), inspect.getsource(color_contrast)])


def source() -> str:
    """Return the module that says so."""
    head = '"""Which renderer this is: digests of all that decides how pages look. Made by `make generate`."""'
    return (
        f'{head}\n\nfrom typing import Final\n\nRENDERER: Final = "{renderer()}"\n"""Of what blocks become."""\n\n'
        f'LAYOUT: Final = "{layout()}"\n"""Of that, and of what is around it."""\n'
    )


def _files(names: Iterable[str]) -> list[str]:
    return [f"{name} {(_FOLDER / name).read_text()}" for name in names]


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return _RENAMED.get(digest, digest)
