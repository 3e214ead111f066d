"""Declared types of application events."""

import json
from typing import Any

from tests.harness import memory_aws


def declare_event_type(name: str, sentence: str, schema: dict[str, Any] | None = None) -> None:
    memory_aws.put_item({"pk": "STUBTYPES", "sk": name, "sentence": sentence, "schema": json.dumps(schema or {})})
