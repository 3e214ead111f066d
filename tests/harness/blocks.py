"""Blocks of pages, and their validation."""

import json
from typing import Any

import pytest
from pydantic import Field

from chalicelib.features.sites.pages.models.blocks import Blocks, BlockType
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.models import Input
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import validate_body

Stored = dict[str, Any]


class LeafletCreate(Input):
    """A request body with blocks."""

    blocks: Blocks = Field([], examples=[[{"id": "opening", "type": "divider"}]])


def kept(*blocks: Any) -> list[Stored]:
    """Return blocks as they are stored after validation. Raises ValidationProblem."""
    body = json.dumps({"blocks": blocks}).encode()
    validated = validate_body(LeafletCreate, Request("POST", "/", {}, {}, {}, body, "id", "127.0.0.1"), None)
    stored: list[Stored] = validated.fields()["blocks"]
    return stored


def faults(*blocks: Any) -> list[tuple[str, str]]:
    """Return pointer and code of each validation error. The blocks must have errors."""
    with pytest.raises(ValidationProblem) as raised:
        kept(*blocks)
    return [(error.pointer, error.code) for error in raised.value.errors]


def block(kind: BlockType, name: str = "a", **fields: Any) -> Stored:
    """Return a block."""
    return {"id": name, "type": kind, **fields}
