"""Measure the example of every operation: the request and its background work."""

import io
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from benchmarks.costs import item_sizes
from benchmarks.costs.classes import class_of
from benchmarks.costs.meter import Usage, meter_usage, watch_all_clients
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core import aws
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples import registry
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.webhooks import create_webhook, rename_organization
from tests.harness.workers import Workers

Record = dict[str, Any]
_SERVICES: Final = ("dynamodb", "sqs", "s3", "kms", "sesv2")
DEFAULT_REPETITIONS: Final = 3
COMPARED_OPERATIONS: Final = (
    "get_organization",
    "list_pages",
    "update_organization",
    "publish_page",
    "create_public_lead",
)
"""Operations whose units are compared with those of DynamoDB Local."""

LIST_OF_100: Final = "list of 100"
CHANGE_WITH_WEBHOOK: Final = "change, 1 webhook hears of it"
EMPTY_SWEEP: Final = "sweep, nothing is due"
EMPTY_ANCHORING: Final = "anchoring, nothing has grown"


@dataclass
class _Invocation:
    """One invocation of a function: its number of messages, its AWS usage and its log output."""

    function: str
    messages: int
    usage: Usage
    logged_bytes: int

    def to_record(self) -> Record:
        return {"function": self.function, "messages": self.messages, "logged": self.logged_bytes, **asdict(self.usage)}


class _MeteredApp:
    """The Chalice app with handlers that measure each call."""

    def __init__(self, app: Any, output: io.StringIO) -> None:
        self.invocations: list[_Invocation] = []
        self._app, self._output = app, output
        self.event_sources = app.event_sources
        self.handler_map = {name: self._wrap_handler(name, handler) for name, handler in app.handler_map.items()}

    def __call__(self, event: Any, context: Any) -> Any:
        return self._call_metered("api_handler", event, lambda: self._app(event, context))

    def _wrap_handler(self, name: str, handler: Any) -> Callable[[Any, Any], Any]:
        return lambda event, context: self._call_metered(name, event, lambda: handler(event, context))

    def _call_metered(self, name: str, event: Any, call: Callable[[], Any]) -> Any:
        output_start = self._output.tell()
        with meter_usage() as usage:
            response = call()
        self.invocations.append(
            _Invocation(name, len(event.get("Records", [])), usage, self._output.tell() - output_start)
        )
        return response


class Bench:
    """The environment of the catalogue's examples, in which every invocation is measured."""

    def __init__(self, tenant: TenantFixture, app: _MeteredApp) -> None:
        self._tenant, self._app = tenant, app
        tenant.workers.run_until_idle()
        self._initial_state = snapshots.take_snapshot()

    def measure_operations(self, times: int, names: Container[str] | None = None) -> Iterator[tuple[str, Record]]:
        """Yield the measurements of all or of some operations, each of the fastest repetition."""
        for operation in all_operations():
            if names is not None and operation.id not in names:
                continue
            record = self._measure_repeatedly(times, partial(self._perform, operation))
            yield operation.id, {"class": class_of(operation), **record}

    def measure_other_requests(self, times: int) -> Iterator[tuple[str, Record]]:
        """Yield further measurements: a long page, a change with a webhook, the schedules."""
        by_id = {operation.id: operation for operation in all_operations()}
        list_members, update_organization = by_id["list_organization_members"], by_id["update_organization"]
        yield (
            CHANGE_WITH_WEBHOOK,
            self._measure_repeatedly(times, lambda: self._perform(update_organization), self._add_responsive_webhook),
        )
        yield EMPTY_SWEEP, self._measure_repeatedly(times, self._tenant.workers.run_sweep)
        yield (
            EMPTY_ANCHORING,
            self._measure_repeatedly(times, self._tenant.workers.run_hourly_anchoring, self._anchor_logs),
        )
        yield (
            LIST_OF_100,
            self._measure_repeatedly(
                times, lambda: self._perform(list_members, query={"limit": 100}), self._add_members
            ),
        )

    def reset(self) -> None:
        """Restore the initial state, and let the process cache the containers and create its clients.

        A process creates its clients once, so that must not count as work of the measured request.
        """
        snapshots.restore_snapshot(self._initial_state)
        watch_all_clients()
        self._tenant.warm_caches()
        for service in _SERVICES:
            aws.client(service)
        self._tenant.api.get(self._tenant.organization.path, caller=self._tenant.people.owner)

    def perform(self, operation_id: str) -> None:
        """Perform an operation and its background work."""
        self._perform(next(each for each in all_operations() if each.id == operation_id))
        self._tenant.workers.deliver()

    def _measure_repeatedly(
        self, times: int, action: Callable[[], object], prepare: Callable[[], object] | None = None
    ) -> Record:
        return min((self._measure_once(action, prepare) for _ in range(times)), key=lambda record: record["cpu"])

    def _measure_once(self, action: Callable[[], object], prepare: Callable[[], object] | None) -> Record:
        self.reset()
        if prepare:
            prepare()
            self._tenant.warm_caches()
        stored_bytes_before = _total_stored_bytes()
        self._app.invocations.clear()
        action()
        self._tenant.workers.deliver()
        invocations = [invocation.to_record() for invocation in self._app.invocations]
        return {
            "turns": invocations,
            "cpu": sum(invocation["cpu"] for invocation in invocations),
            "stored": _total_stored_bytes() - stored_bytes_before,
        }

    def _perform(self, operation: Operation, **options: Any) -> ApiResponse:
        response = registry.call_operation(operation, self._tenant, **options)
        if response.status != operation.success:
            raise SystemExit(f"{operation.id}: {response.text}")
        return response

    def _add_responsive_webhook(self) -> None:
        organization = self._tenant.organization
        create_webhook(self._tenant.api, organization, "https://receiver.example/", events=["organization.updated"])
        for name in ("Asked for the first time", "Known to answer"):
            rename_organization(self._tenant.api, organization, name)
            self._tenant.workers.deliver()

    def _anchor_logs(self) -> None:
        self._tenant.workers.run_hourly_anchoring()
        self._tenant.workers.deliver(include_delayed=True)

    def _add_members(self) -> None:
        registry.add_neighbours(self._tenant, 100)


@contextmanager
def open_bench() -> Iterator[Bench]:
    """Provide the bench within the block. The service's log output is counted, not printed."""
    from app import app

    output = io.StringIO()
    with redirect_stdout(output), standalone_tenant() as tenant:
        metered_app = _MeteredApp(app, output)
        tenant.api._app = metered_app  # noqa: SLF001 - all requests reach the service through it
        tenant.workers = Workers(metered_app)  # type: ignore[arg-type]
        yield Bench(tenant, metered_app)


def calls_by_invocation(record: Record) -> list[list[str]]:
    """Return each invocation's function name and AWS calls, which must not change without a new measurement."""
    return [[invocation["function"], *invocation["waits"]] for invocation in record["turns"]]


def _total_stored_bytes() -> int:
    return sum(item_sizes.stored_bytes(item) for item in snapshots.items_by_key().values())
