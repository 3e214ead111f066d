"""`docs/operations/anonymous-callers.md` names every operation that is open to anybody, and what bounds it."""

import re
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.core.settings import Settings
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from local.paths import ROOT

DOCUMENT: Final = (ROOT / "docs/operations/anonymous-callers.md").read_text()
ROWS: Final = dict(re.findall(r"^\| `(\w+)` \| (.+ \| .+) \|$", DOCUMENT, re.MULTILINE))

BY_A_CREDENTIAL: Final = frozenset({"accept_invitation"})
"""Operations that are open to anybody and change something only for whoever has a credential, who is counted by it."""


def anybodys() -> list[Operation]:
    """Return the operations that somebody without a credential can have performed."""
    return [
        o for o in operations() if o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published)
    ]


def test_every_operation_that_is_open_to_anybody_has_its_row_and_no_other_has_one() -> None:
    assert [*ROWS] == sorted(operation.id for operation in anybodys())


@pytest.mark.parametrize("operation", anybodys(), ids=lambda operation: operation.id)
class TestAnOperationThatIsOpenToAnybody:
    def test_has_a_limit_for_each_network_if_it_stores_something(self, operation: Operation) -> None:
        if operation.mutates and operation.id not in BY_A_CREDENTIAL:
            assert operation.rate_limits_per("network")

    def test_tells_its_own_limits_in_its_row(self, operation: Operation) -> None:
        for budget in operation.rate_limits:
            assert f"{budget.limit} times in {budget.seconds} s for each client network" in ROWS[operation.id]


def test_it_tells_the_default_of_the_setting() -> None:
    assert f"{Settings.model_fields['network_requests_per_minute'].default:,} such requests a minute" in DOCUMENT
