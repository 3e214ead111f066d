"""What the keys of stored items look like, by their templates."""

import re
from functools import cache

from local.generators.table_document import index_keys, item_keys


@cache
def pattern(template: str) -> re.Pattern[str]:
    """Return what the values of a key's template look like."""
    parts = re.split(r"({[^}]+})", template)
    return re.compile("".join("[^#!]+" if part.startswith("{") else re.escape(part) for part in parts) + "$")


def item_name(pk: str, sk: str) -> str:
    """Return what an item is, by its key. Raises LookupError if it is not documented."""
    for name, pk_template, sk_template in item_keys():
        if pattern(pk_template).match(pk) and pattern(sk_template).match(sk):
            return name
    raise LookupError(f"docs/reference/table.md knows no item {pk} / {sk}")


def partition(index: str | None, pk: str, begins: str = "") -> str:
    """Return the template of a partition that is queried. Raises LookupError if it is not documented."""
    begins = begins if index else fixed(pk, begins)
    of_table = [template for _, template, sk in item_keys() if sk.startswith(begins)]
    of_index = [template for name, template in index_keys() if name == index]
    for template in of_index if index else of_table:
        if pattern(template).match(pk):
            return template
    raise LookupError(f"docs/reference/table.md knows no partition {pk} of {index or 'the table'}")


def fixed(pk: str, begins: str) -> str:
    """Return how the sort keys begin that a Query looks for, without what differs from one Query to the other."""
    here = [sk for _, template, sk in item_keys() if pattern(template).match(pk)]
    if any(sk.startswith(begins) for sk in here):
        return begins
    known = (sk.partition("{")[0] for sk in here)
    return next((each for each in known if each and begins.startswith(each)), begins)
