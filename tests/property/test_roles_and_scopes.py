"""Roles and scopes, against plain tables of what the contract says of them."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.permissions.roles import (
    Role,
    all_scopes,
    role_for_scopes,
    scopes_allow,
    ungrantable_scopes,
)
from chalicelib.kernel.permissions.scope_areas import scope_areas

ORDER: Final = ("member", "editor", "admin", "owner")
ROWS: Final = ("read:member", "read:editor", "read:admin", "write:member", "write:editor", "write:admin")
"""What an operation can need of a key: the verb of its scope, and its role."""

OPENS: Final = {
    "read": {"read:member"},
    "write": {"read:member", "read:editor", "write:member", "write:editor"},
    "admin": set(ROWS),
    "area:read": {"read:member", "read:editor", "read:admin"},
    "area:write": set(ROWS),
    "other:read": set[str](),
    "other:write": set[str](),
}
"""Which rows of an area each scope opens; `other` is another area."""

_AREAS: Final = tuple(area.name for area in scope_areas())
scope_sets = st.lists(st.sampled_from(all_scopes()), max_size=5)
rows = st.tuples(st.sampled_from(_AREAS), st.sampled_from(ROWS))


def opens(scopes: list[str], area: str, row: str) -> bool:
    verb, _, role = row.partition(":")
    return scopes_allow(scopes, f"{area}:{verb}", Role(role))


def word(scope: str, area: str) -> str:
    """The word of the table for a scope, seen from an area."""
    if ":" not in scope:
        return scope
    of, _, verb = scope.partition(":")
    return f"{'area' if of == area else 'other'}:{verb}"


@pytest.mark.parametrize(("held", "needed"), [*product(ORDER, ORDER)])
def test_a_role_covers_itself_and_those_below(held: str, needed: str) -> None:
    assert Role(held).includes(Role(needed)) is (ORDER.index(held) >= ORDER.index(needed))


@pytest.mark.parametrize("area", _AREAS)
@pytest.mark.parametrize("scope", all_scopes())
def test_a_scope_opens_what_the_table_says(scope: str, area: str) -> None:
    assert {row for row in ROWS if opens([scope], area, row)} == OPENS[word(scope, area)]


@given(scope_sets, rows)
def test_scopes_open_together_what_each_opens(scopes: list[str], row: tuple[str, str]) -> None:
    assert opens(scopes, *row) is any(opens([scope], *row) for scope in scopes)


@given(scope_sets)
def test_a_key_acts_as_the_highest_role_that_one_of_its_scopes_gives(scopes: list[str]) -> None:
    acts_as = {"admin": "admin", "write": "editor"}
    best = max((ORDER.index(acts_as.get(scope, "member")) for scope in scopes), default=0)
    assert role_for_scopes(scopes) == ORDER[best]


@given(scope_sets, scope_sets)
def test_nobody_gives_away_what_opens_more_than_they_hold(wanted: list[str], held: list[str]) -> None:
    refused = ungrantable_scopes(wanted, held)
    granted = [scope for scope in wanted if scope not in refused]
    for area, row in product(_AREAS, ROWS):
        assert not opens(granted, area, row) or opens(held, area, row)


@given(scope_sets, scope_sets)
def test_whoever_holds_a_scope_can_give_it_away(wanted: list[str], held: list[str]) -> None:
    assert ungrantable_scopes([scope for scope in wanted if scope in held], held) == []
    assert ungrantable_scopes(wanted, ["admin"]) == []


@given(scope_sets, scope_sets)
def test_the_refused_scopes_are_named_in_the_order_they_came(wanted: list[str], held: list[str]) -> None:
    refused = ungrantable_scopes(wanted, held)
    assert refused == [scope for scope in wanted if scope in refused]
