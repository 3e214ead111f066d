"""Counts of things in messages."""


def describe_count(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, such as `1 log` or `2,000 logs`. `plural`: by default the singular with an s."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
