"""Matches the keys of stored items against the key templates of `docs/reference/table.md`."""

import re
from functools import cache

from local.generators.table_document import index_keys, item_keys


@cache
def template_pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"({[^}]+})", template)
    return re.compile("".join("[^#!]+" if part.startswith("{") else re.escape(part) for part in parts) + "$")


def item_name(pk: str, sk: str) -> str:
    """Return the name of the item with a key. Raises LookupError if it is not documented."""
    for name, pk_template, sk_template in item_keys():
        if template_pattern(pk_template).match(pk) and template_pattern(sk_template).match(sk):
            return name
    raise LookupError(f"docs/reference/table.md has no item {pk} / {sk}")


def partition_template(index: str | None, pk: str, prefix: str = "") -> str:
    """Return the template of a queried partition. Raises LookupError if it is not documented."""
    prefix = prefix if index else fixed_prefix(pk, prefix)
    table_templates = [template for _, template, sk in item_keys() if sk.startswith(prefix)]
    index_templates = [template for name, template in index_keys() if name == index]
    for template in index_templates if index else table_templates:
        if template_pattern(template).match(pk):
            return template
    raise LookupError(f"docs/reference/table.md has no partition {pk} of {index or 'the table'}")


def fixed_prefix(pk: str, prefix: str) -> str:
    """Return the part of a Query's sort key prefix that is the same for all such Queries."""
    templates = [sk for _, template, sk in item_keys() if template_pattern(template).match(pk)]
    if any(sk.startswith(prefix) for sk in templates):
        return prefix
    fixed_parts = (sk.partition("{")[0] for sk in templates)
    return next((part for part in fixed_parts if part and prefix.startswith(part)), prefix)
