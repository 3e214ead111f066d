"""The generated modules of the Python client: models of records, events, and resources of both clients."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from chalicelib.entrypoints.openapi.python_names import python_name
from local.generators.python_client import events, models, resources
from local.generators.python_client.prose import attribute_docstring, docstring

_TEMPLATES: Final = Environment(  # nosec B701 - the templates render Python, not HTML
    loader=PackageLoader(__name__),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701 - the templates render Python, not HTML
)
_TEMPLATES.filters.update(
    attribute_docstring=attribute_docstring, docstring=docstring, python_name=python_name, quoted=json.dumps
)


def generate(document: Mapping[str, Any], folder: Path) -> None:
    """Write the generated modules to a folder."""
    components = document["components"]["schemas"]
    groups = resources.describe_groups(document)
    shared = {"groups": groups, "model_names": resources.used_models(groups, components)}
    info = document["info"]
    sources = {
        "_version.py": _render("version", version=info["version"], api_version=info["x-api-version"]),
        "models.py": _render("models", **models.describe_models(document)),
        "events.py": _render("events", **events.describe_events(document)),
        "resources.py": _render("resources", **shared, is_async=False),
        "async_resources.py": _render("resources", **shared, is_async=True),
    }
    for name, source in sources.items():
        (folder / name).write_text(_format(source), encoding="utf-8")


def _render(template: str, **values: object) -> str:
    return _TEMPLATES.get_template(f"{template}.py.jinja").render(values)


def _format(source: str) -> str:
    """Return the source in the format of Ruff, so that templates need not care about it."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120", "-"]
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=True).stdout
