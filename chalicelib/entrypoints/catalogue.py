"""The catalogue: the list of features, and the operations, tasks, events and record types that they define.

`make generate` writes `ROUTES` and `KINDS` from the decorators and classes, and tests compare them with these. They
make lazy imports possible: a feature is imported at the first call of one of its operations, and a record type when a
read first returns such a record.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from chalicelib.entrypoints.kinds import KINDS
from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage import record_types
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.work import tasks
from chalicelib.kernel.work.commands import Command
from chalicelib.kernel.work.tasks import Task

FEATURES: Final = (
    "tenancy",
    "tenancy.members",
    "tenancy.invitations",
    "tenancy.email_suppressions",
    "tenancy.api_keys",
    "tenancy.me",
    "overviews.organization_summaries",
    "audit.log",
    "audit.witnesses",
    "audit.exports",
    "audit.reconciliations",
    "audit.log_verifications",
    "audit.proofs",
    "events.entries",
    "privacy.erasures",
    "notifications",
    "notifications.webhooks",
    "notifications.log_streams",
    "notifications.deliveries",
    "notifications.replays",
    "notifications.channels",
    "platforms",
    "platforms.members",
    "platforms.domains",
    "platforms.modules",
    "platforms.project_blocks",
    "platforms.configuration",
    "platforms.spaces",
    "platforms.capabilities",
    "taxonomy.nodes",
    "taxonomy.attachments",
    "sites",
    "sites.pages",
    "sites.menus",
    "sites.redirects",
    "sites.visits",
    "sites.previews",
    "leads",
    "research",
    "tenancy.purges",
    "reference",
    "admin.migrations",
    "admin.status",
    "admin.dead_letters",
    "admin.organizations",
    "admin.chain_tests",
    "events.types",
    "events.service_keys",
)
"""Packages of `chalicelib.features` with operations or tasks, in the order of the documentation."""

record_types.register_import_targets(KINDS)


@cache
def all_route_groups() -> tuple[RouteGroup, ...]:
    """Return the route group of every module with operations, in the order of the features."""
    module_names = (f"chalicelib.features.{feature}.operations" for feature in FEATURES)
    modules = [
        *(module for module in module_names if find_spec(module)),
        "chalicelib.entrypoints.event_types",
        "chalicelib.entrypoints.signed_links",
        "chalicelib.entrypoints.documentation",
        "chalicelib.entrypoints.console",
    ]
    return tuple(import_module(name).routes for name in modules)


@cache
def all_operations() -> tuple[Operation, ...]:
    """Return every operation, in the order of the features."""
    return tuple(operation for group in all_route_groups() for operation in group.operations)


def list_record_types() -> list[type[Entity]]:
    """Return every record type, in the order of the kinds' names."""
    return [record_types.get_record_type(name) for name in KINDS]


@cache
def load_operation(function_path: str) -> Operation:
    """Return the operation with a target `module:function`, as `ROUTES` names it."""
    module, _, function = function_path.partition(":")
    operation: Operation = getattr(import_module(module), function)
    return operation


@cache
def register_tasks() -> None:
    """Import the tasks of every feature, which registers them by their names."""
    for feature in FEATURES:
        if find_spec(module := f"chalicelib.features.{feature}.tasks"):
            import_module(module)


tasks.register_importer(register_tasks)


@cache
def event_emitting_tasks_and_commands() -> tuple[Task | Command, ...]:
    """Return every task that can emit events, in the order of their names, and every such command of operators."""
    register_tasks()
    acceptance = import_module("chalicelib.features.audit.reconciliations.logic.acceptance")
    return (*(task for task in tasks.all_tasks() if task.emits), acceptance.ACCEPT_COMMAND)


def event_names() -> list[str]:
    """Return the name of every event that an operation, a task or a command declares, in order."""
    emitters: list[Operation | Task | Command] = [*all_operations(), *event_emitting_tasks_and_commands()]
    return sorted({event for emitter in emitters for event in emitter.emits})


__all__ = [
    "FEATURES",
    "ROUTES",
    "all_operations",
    "event_emitting_tasks_and_commands",
    "event_names",
    "load_operation",
    "register_tasks",
]
