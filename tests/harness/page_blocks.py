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

StoredBlock = dict[str, Any]


class LeafletCreate(Input):
    """A request body with blocks."""

    blocks: Blocks = Field([], examples=[[{"id": "opening", "type": "divider"}]])


def validate_blocks(*blocks: Any) -> list[StoredBlock]:
    """Return blocks as they are stored after validation. Raises ValidationProblem."""
    body = json.dumps({"blocks": blocks}).encode()
    validated = validate_body(LeafletCreate, Request("POST", "/", {}, {}, {}, body, "id", "127.0.0.1"), None)
    stored: list[StoredBlock] = validated.to_stored_fields_with_defaults()["blocks"]
    return stored


def validation_errors(*blocks: Any) -> list[tuple[str, str]]:
    """Return pointer and code of each validation error. The blocks must have errors."""
    with pytest.raises(ValidationProblem) as raised:
        validate_blocks(*blocks)
    return [(error.pointer, error.code) for error in raised.value.errors]


def build_block(block_type: BlockType, block_id: str = "a", **fields: Any) -> StoredBlock:
    """Return a block."""
    return {"id": block_id, "type": block_type, **fields}


def text_block(text: str, block_id: str = "a") -> StoredBlock:
    """Return a block of Markdown."""
    return build_block("text", block_id, text=text)
