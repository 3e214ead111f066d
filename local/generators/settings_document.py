"""Generates the table in `docs/reference/settings.md` that lists the settings."""

from typing import Final, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from chalicelib.kernel.core.settings import settings_model
from local.generators.markdown import code, put_between, table

_BEGIN: Final = "<!-- settings: `make generate` -->"
_END: Final = "<!-- end of settings -->"


def write_table_into(text: str) -> str:
    """Replace the table between the two markers of a document. Raises ValueError if a marker is missing."""
    return put_between(text, _BEGIN, _END, _settings())


def _settings() -> str:
    rows = [
        (code(name.upper()), _default(field), _meaning(field)) for name, field in settings_model().model_fields.items()
    ]
    return table(("variable", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "none (required)"
    return code(str(field.default).lower() if isinstance(field.default, bool) else field.default or "")


def _meaning(field: FieldInfo) -> str:
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    text = field.description or ""
    return f"{text} One of {', '.join(map(code, choices))}." if choices else f"{text}{_range(field)}"


def _range(field: FieldInfo) -> str:
    """Return the sentence that names the bounds of a number, with a space before it, or ""."""
    bounds = [bound for each in field.metadata if (bound := _describe_bound(each))]
    return f" {', '.join(bounds).capitalize()}." if bounds else ""


def _describe_bound(constraint: object) -> str:
    match constraint:
        case Ge(minimum):
            return f"at least {minimum}"
        case Gt(minimum):
            return f"more than {minimum}"
        case Le(maximum):
            return f"at most {maximum:,}"
    return ""
