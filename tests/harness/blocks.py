"""Blocks of pages, as callers send them and as they are stored."""

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
    """What has blocks."""

    blocks: Blocks = Field([], examples=[[{"id": "opening", "type": "divider"}]])


def kept(*blocks: Any) -> list[Stored]:
    """Return blocks as they are stored after a caller sent them. Raises Invalid."""
    sent = json.dumps({"blocks": blocks}).encode()
    found = validate_body(LeafletCreate, Request("POST", "/", {}, {}, {}, sent, "id", "127.0.0.1"), None)
    stored: list[Stored] = found.fields()["blocks"]
    return stored


def faults(*blocks: Any) -> list[tuple[str, str]]:
    """Return pointer and code of each fault that is found."""
    with pytest.raises(ValidationProblem) as refused:
        kept(*blocks)
    return [(fault.pointer, fault.code) for fault in refused.value.errors]


def block(kind: BlockType, name: str = "a", **fields: Any) -> Stored:
    """Return a block."""
    return {"id": name, "type": kind, **fields}
