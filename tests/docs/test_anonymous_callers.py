"""`docs/operations/anonymous-callers.md` lists every operation for anonymous callers, with its rate limits."""

import re
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.settings import Settings
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from local.paths import ROOT

DOCUMENT: Final = (ROOT / "docs/operations/anonymous-callers.md").read_text()
ROWS: Final = dict(re.findall(r"^\| `(\w+)` \| (.+ \| .+) \|$", DOCUMENT, re.MULTILINE))

MUTATIONS_WITH_CREDENTIAL: Final = frozenset({"accept_invitation"})
"""Anonymous operations that change something only with a credential. Rate limits count that credential."""


def anonymous_operations() -> list[Operation]:
    """Return the operations that accept requests without a credential."""
    return [
        o
        for o in all_operations()
        if o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published)
    ]


def test_the_rows_are_the_anonymous_operations():
    assert [*ROWS] == sorted(operation.id for operation in anonymous_operations())


@pytest.mark.parametrize("operation", anonymous_operations(), ids=lambda operation: operation.id)
class TestAnonymousOperation:
    def test_a_mutation_has_a_rate_limit_for_each_network(self, operation):
        if operation.emits_events and operation.id not in MUTATIONS_WITH_CREDENTIAL:
            assert operation.rate_limits_per("network")

    def test_the_row_states_the_rate_limits(self, operation):
        for rate_limit in operation.rate_limits:
            assert f"{rate_limit.limit} times in {rate_limit.seconds} s for each client network" in ROWS[operation.id]


def test_the_document_states_the_default_of_the_setting():
    assert f"{Settings.model_fields['network_requests_per_minute'].default:,} such requests a minute" in DOCUMENT
