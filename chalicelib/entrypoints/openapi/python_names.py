"""Names of Python for those of the API, which are in camel case."""

import keyword
import re
from typing import Final

from pydantic import BaseModel

_INHERITED: Final = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))
"""The names that every model of Pydantic has. A field cannot have them."""


def python_name(name: str) -> str:
    """Return the name of a parameter, a method or a group, such as `created_at`, or `from_` for a keyword."""
    snake_case = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return f"{snake_case}_" if keyword.iskeyword(snake_case) else snake_case


def field_name(name: str) -> str:
    """Return the name of a model's field. It ends in an underscore if models have an attribute of this name."""
    snake_case = python_name(name)
    return f"{snake_case}_" if snake_case in _INHERITED else snake_case


def class_name(group: str, suffix: str) -> str:
    """Return the name of a group's class, such as `OrganizationsMembersResource`."""
    return "".join(part[:1].upper() + part[1:] for part in group.split(".")) + suffix
