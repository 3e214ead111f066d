"""Every operation's example, metered: the request, and the work behind it."""

import io
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from benchmarks.costs import sizes
from benchmarks.costs.classes import class_of
from benchmarks.costs.meter import Spent, metered, watch
from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples import registry
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.webhooks import create_webhook, rename_organization
from tests.harness.workers import Workers

Record = dict[str, Any]
TIMES: Final = 3
SAMPLE: Final = ("get_organization", "list_pages", "update_organization", "publish_page", "create_public_lead")
"""Operations whose units are compared with those of DynamoDB Local."""

LIST_OF_100: Final = "list of 100"
HEARD: Final = "change, 1 webhook hears of it"
SWEEP: Final = "sweep, nothing is due"
ANCHOR: Final = "anchoring, nothing has grown"


@dataclass
class _Turn:
    """One invocation of a function: which, how many messages it took, what it asked for and how much it logged."""

    function: str
    messages: int
    spent: Spent
    logged: int

    def record(self) -> Record:
        return {"function": self.function, "messages": self.messages, "logged": self.logged, **asdict(self.spent)}


class _Watched:
    """The Chalice app and its handlers, each call of which is metered."""

    def __init__(self, app: Any, output: io.StringIO) -> None:
        self.turns: list[_Turn] = []
        self._app, self._output = app, output
        self.event_sources = app.event_sources
        self.handler_map = {name: self._handler(name, handler) for name, handler in app.handler_map.items()}

    def __call__(self, event: Any, context: Any) -> Any:
        return self._metered("api_handler", event, lambda: self._app(event, context))

    def _handler(self, name: str, handler: Any) -> Callable[[Any, Any], Any]:
        return lambda event, context: self._metered(name, event, lambda: handler(event, context))

    def _metered(self, name: str, event: Any, call: Callable[[], Any]) -> Any:
        before = self._output.tell()
        with metered() as spent:
            answer = call()
        self.turns.append(_Turn(name, len(event.get("Records", [])), spent, self._output.tell() - before))
        return answer


class Bench:
    """The world of the catalogue's examples, in which everything is metered."""

    def __init__(self, world: TenantFixture, watched: _Watched) -> None:
        self._world, self._watched = world, watched
        world.workers.run_until_idle()
        self._begin = snapshots.take_snapshot()

    def operations(self, times: int, names: Container[str] | None = None) -> Iterator[tuple[str, Record]]:
        """Yield what each operation takes, or each of these; of several times the one with the least processor time."""
        for operation in operations():
            if names is not None and operation.id not in names:
                continue
            least = self._least(times, partial(self._perform, operation))
            yield operation.id, {"class": class_of(operation), **least}

    def others(self, times: int) -> Iterator[tuple[str, Record]]:
        """Yield what else there is to know: a long page, a change that is heard of, the schedules."""
        by_id = {operation.id: operation for operation in operations()}
        listed, changed = by_id["list_organization_members"], by_id["update_organization"]
        yield HEARD, self._least(times, lambda: self._perform(changed), self._listens)
        yield SWEEP, self._least(times, self._world.workers.run_sweep)
        yield ANCHOR, self._least(times, self._world.workers.run_hourly_anchoring, self._anchored)
        yield LIST_OF_100, self._least(times, lambda: self._perform(listed, query={"limit": 100}), self._crowded)

    def begin(self) -> None:
        """Let the world be as it was, and the process know its places."""
        snapshots.restore_snapshot(self._begin)
        watch()
        self._world.warm_caches()

    def perform(self, operation: str) -> None:
        """Perform an operation, and the work behind it."""
        self._perform(next(each for each in operations() if each.id == operation))
        self._world.workers.deliver()

    def _least(self, times: int, act: Callable[[], object], given: Callable[[], object] | None = None) -> Record:
        return min((self._once(act, given) for _ in range(times)), key=lambda record: record["cpu"])

    def _once(self, act: Callable[[], object], given: Callable[[], object] | None) -> Record:
        self.begin()
        if given:
            given()
            self._world.warm_caches()
        stored_bytes = _stored_bytes()
        self._watched.turns.clear()
        act()
        self._world.workers.deliver()
        turns = [turn.record() for turn in self._watched.turns]
        return {"turns": turns, "cpu": sum(turn["cpu"] for turn in turns), "stored": _stored_bytes() - stored_bytes}

    def _perform(self, operation: Operation, **words: Any) -> ApiResponse:
        answer = registry.call_operation(operation, self._world, **words)
        if answer.status != operation.success:
            raise SystemExit(f"{operation.id}: {answer.text}")
        return answer

    def _listens(self) -> None:
        owned = self._world.organization
        create_webhook(self._world.api, owned, "https://receiver.example/", events=["organization.updated"])
        for name in ("Asked for the first time", "Known to answer"):
            rename_organization(self._world.api, owned, name)
            self._world.workers.deliver()

    def _anchored(self) -> None:
        self._world.workers.run_hourly_anchoring()
        self._world.workers.deliver(include_delayed=True)

    def _crowded(self) -> None:
        registry.add_neighbours(self._world, 100)


@contextmanager
def bench() -> Iterator[Bench]:
    """Let the bench be there within the block; what the service logs is counted, not shown."""
    from app import app

    output = io.StringIO()
    with redirect_stdout(output), standalone_tenant() as world:
        watched = _Watched(app, output)
        world.api._app = watched  # noqa: SLF001 - the one place by which a request reaches the service
        world.workers = Workers(watched)  # type: ignore[arg-type]
        yield Bench(world, watched)


def calls(record: Record) -> list[list[str]]:
    """Return the calls of each turn, after its function's name: what has to stay as it was measured."""
    return [[turn["function"], *turn["waits"]] for turn in record["turns"]]


def _stored_bytes() -> int:
    return sum(sizes.stored_bytes(item) for item in snapshots.items_by_key().values())
