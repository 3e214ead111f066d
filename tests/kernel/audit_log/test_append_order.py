"""The order in which pending entries are appended, if ids and chains disagree or entries are missing."""

from types import SimpleNamespace
from typing import Any

from chalicelib.kernel.audit_log.append_order import AppendOrder
from chalicelib.kernel.audit_log.mac_chains import Link

EMPTY_TREE: Any = SimpleNamespace(chain_state=lambda _: SimpleNamespace(number=0))


def create_order(**links: tuple[int, int]) -> AppendOrder:
    """Return the order of pointers whose ids are the names, and whose links are a chain and a number in it."""
    return AppendOrder(
        [{"sk": name, "link": Link(*link, b"").to_bytes(), "mac": b"mac"} for name, link in sorted(links.items())]
    )


def list_appendable(order: AppendOrder, *, has_all_pending: bool, limit: int = 49) -> list[str]:
    pointers = order.list_appendable_entry_pointers(EMPTY_TREE, limit=limit, has_all_pending=has_all_pending)
    return [pointer["sk"] for pointer in pointers]


def test_an_entry_follows_the_previous_ones_of_its_chain():
    in_order = create_order(a=(3, 1), b=(5, 1), c=(3, 2))
    assert (in_order.has_chain_contrary_to_id_order, list_appendable(in_order, has_all_pending=True)) == (
        False,
        ["a", "b", "c"],
    )
    contrary = create_order(a=(3, 3), b=(3, 2), c=(5, 1), d=(3, 1))
    assert (contrary.has_chain_contrary_to_id_order, list_appendable(contrary, has_all_pending=True)) == (
        True,
        ["d", "b", "a", "c"],
    )


def test_an_entry_follows_the_previous_one_about_its_record():
    order = create_order(a=(3, 2), b=(5, 1), c=(6, 1), d=(3, 1))
    order.add_record_order_constraints({"a": "record", "b": "record", "c": "other", "d": "other"})
    assert list_appendable(order, has_all_pending=True) == ["c", "d", "a", "b"]


def test_an_entry_after_a_gap_waits_with_those_that_follow_it_for_the_rest():
    order = create_order(a=(3, 2), b=(5, 1), c=(6, 1))
    order.add_record_order_constraints({"a": "record", "b": "record"})
    assert list_appendable(order, has_all_pending=False) == ["c"]
    assert list_appendable(order, has_all_pending=True) == ["a", "b", "c"]


def test_the_first_entries_are_the_start_of_the_order():
    order = create_order(a=(3, 3), b=(3, 2), c=(5, 1), d=(3, 1), e=(5, 3), f=(5, 2))
    complete = list_appendable(order, has_all_pending=True)
    assert complete == ["d", "b", "a", "c", "f", "e"]
    for limit in range(1, 7):
        assert list_appendable(order, has_all_pending=True, limit=limit) == complete[:limit]
        assert list_appendable(order, has_all_pending=False, limit=limit) == complete[:limit]


def test_no_entry_waits_if_all_would():
    order = create_order(a=(3, 2), b=(5, 4))
    assert list_appendable(order, has_all_pending=False) == ["a", "b"]
