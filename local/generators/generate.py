"""Writes the files that are generated from the operations, the entities and the app: `make generate`."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.core.settings import SettingsSection
from chalicelib.kernel.permissions.scope_areas import scope_areas
from chalicelib.kernel.storage.entity import KINDS
from local.paths import ROOT


def routes_source() -> str:
    """Return the source of the route table."""
    rows = [
        f'    ("{o.group}", "{o.method}", "{o.path}", "{o.function.__module__}:{o.id}"),'
        for o in catalogue.all_operations()
    ]
    head = '"""Every route: group, method, path and the function of its operation. Made by `make generate`."""\n\n'
    return f"{head}ROUTES: tuple[tuple[str, str, str, str], ...] = (\n" + "\n".join(rows) + "\n)\n"


def kinds_source() -> str:
    """Return the source of the table of kinds of records."""
    catalogue.all_operations()
    catalogue.register_tasks()
    rows = [
        f'    "{name}": "{kind.__module__}:{kind.__name__}",'
        for name, kind in sorted(KINDS.items())
        if kind.__module__.startswith("chalicelib.")
    ]
    head = '"""The class of every kind of record. Made by `make generate`."""\n\n'
    return f"{head}KINDS: dict[str, str] = {{\n" + "\n".join(rows) + "\n}\n"


def declarations_source() -> str:
    """Return the source of the scope areas and settings sections that features declare to the kernel.

    The order of the areas is public, so it stays, and new areas are appended.
    """
    catalogue.register_tasks()
    areas_by_name = {area.name: area for group in catalogue.all_route_groups() for area in group.scope_areas}
    order = [*(area.name for area in scope_areas() if area.name in areas_by_name), *areas_by_name]
    areas = [
        f'    ScopeArea("{area.name}", members_read_all={area.members_read_all}, is_read_only={area.is_read_only}),'
        for area in (areas_by_name[name] for name in dict.fromkeys(order))
    ]
    sections = sorted(f"{section.__module__}:{section.__name__}" for section in SettingsSection.__subclasses__())
    rows = [f'    "{target}",' for target in sections if target.startswith("chalicelib.features.")]
    head = '"""The scope areas and settings sections of all features. Made by `make generate`."""\n\n'
    return "\n".join(
        [
            f"{head}from chalicelib.kernel.permissions.scope_areas import ScopeArea\n",
            "SCOPE_AREAS: tuple[ScopeArea, ...] = (",
            *areas,
            ")",
            '"""The areas that scopes cover, in their public order."""\n',
            "SETTINGS_SECTIONS: tuple[str, ...] = (",
            *rows,
            ")",
            '"""The classes of settings sections, as `module:Class`."""\n',
        ]
    )


def template_json() -> str:
    """Return the template for `chalice package --merge-template`."""
    from app import app
    from infrastructure.template import build_template

    return json.dumps(build_template(app), indent=2) + "\n"


def stack_json() -> str:
    """Return the template of the stack with a stage's data."""
    from app import app
    from infrastructure.deployed_functions import function_names
    from infrastructure.stack import build_template

    return json.dumps(build_template(function_names(app)), indent=1) + "\n"


def edge_json() -> str:
    """Return the template of the stack with a stage's edge."""
    from infrastructure.edge_template import build_template

    return json.dumps(build_template(), indent=1) + "\n"


def safeguards_json() -> str:
    """Return the template of the stack with a stage's optional safeguards."""
    from infrastructure.safeguards_template import build_template

    return json.dumps(build_template(), indent=1) + "\n"


def table_page() -> str:
    """Return the page that describes the table."""
    from local.generators.table_document import table_page

    return table_page()


def operations_page() -> str:
    """Return the page of operations with its table."""
    from local.generators import operations_document

    return operations_document.write_table_into((ROOT / "docs/reference/operations.md").read_text())


def settings_page() -> str:
    """Return the page of settings with its table."""
    from local.generators import settings_document

    return settings_document.write_table_into((ROOT / "docs/reference/settings.md").read_text())


def limits_page() -> str:
    """Return the page of limits."""
    from local.generators import limits_document

    return limits_document.limits_page()


def permissions_page() -> str:
    """Return the page of roles, scopes and operations."""
    from local.generators import access_document

    return access_document.access_page()


def verifier_program() -> str:
    """Return the program that verifies exports and receipts."""
    from local.generators import verifier_program as program

    return program.verifier_program()


def renderer_source() -> str:
    """Return the source of the module with the renderer's version."""
    from local.generators import renderer_version

    return renderer_version.version_source()


def logs_page() -> str:
    """Return the page about logs with its queries."""
    from local.generators import logs_document

    return logs_document.write_queries_into((ROOT / "docs/operations/logs.md").read_text())


def deployment_page() -> str:
    """Return the page about deployment with its table of permissions."""
    from local.generators import permissions_document

    return permissions_document.write_table_into((ROOT / "docs/guides/deployment.md").read_text())


GENERATED: Final[Mapping[str, Callable[[], str]]] = {
    "chalicelib/entrypoints/routes.py": routes_source,
    "chalicelib/entrypoints/kinds.py": kinds_source,
    "chalicelib/features/declarations.py": declarations_source,
    "chalicelib/features/sites/rendering/models/renderer_version.py": renderer_source,
    "infrastructure/template.json": template_json,
    "infrastructure/stack.json": stack_json,
    "infrastructure/edge.json": edge_json,
    "infrastructure/safeguards.json": safeguards_json,
    "chalicelib/entrypoints/docs/verify.txt": verifier_program,
    "docs/permissions.md": permissions_page,
    "docs/reference/table.md": table_page,
    "docs/operations/logs.md": logs_page,
    "docs/guides/deployment.md": deployment_page,
    "docs/reference/operations.md": operations_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/limits.md": limits_page,
}
"""The generated files, and the functions that return their contents."""


def main() -> None:
    """Write all generated files. The pages of the documentation come last, because they contain the others."""
    from local.generators.docs_site import pages

    for file, text in GENERATED.items():
        (ROOT / file).write_text(text())
    pages.main()


if __name__ == "__main__":
    main()
