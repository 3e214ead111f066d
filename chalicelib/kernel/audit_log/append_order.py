"""The order in which the ledger appends pending entries: the oldest first, but each after the entries that it follows.

An entry follows the previous one of its chain, and the previous one about the same record. Ids have the same order,
unless the clocks of two processes differ. Then an entry can have an earlier id than the previous one of its chain.
"""

from collections.abc import Collection, Mapping, Sequence

from chalicelib.kernel.audit_log.mac_chains import links_with_macs
from chalicelib.kernel.audit_log.signed_statements import Statement
from chalicelib.kernel.storage.entity import Item


class AppendOrder:
    """The order of pending pointers, which are given in the order of their ids."""

    def __init__(self, pointers: Sequence[Item]) -> None:
        self._pointers = pointers
        links = {pointer["sk"]: each.link for pointer in pointers for each in links_with_macs([pointer])}
        by_position = {links[pointer["sk"]][:2]: pointer for pointer in pointers if pointer["sk"] in links}
        previous_positions = {sk: (link.shard, link.number - 1) for sk, link in links.items()}
        self._previous_in_chain = {
            sk: by_position[position] for sk, position in previous_positions.items() if position in by_position
        }
        self._unread_positions_before = {
            sk: position for sk, position in previous_positions.items() if position not in by_position
        }
        self._previous_of_record: dict[str, Item] = {}

    @property
    def has_chain_contrary_to_id_order(self) -> bool:
        """Return whether a pointer follows one of its chain with a later id, so that records have to be considered."""
        return any(previous["sk"] > sk for sk, previous in self._previous_in_chain.items())

    def add_record_order_constraints(self, record_ids_by_entry_id: Mapping[str, str]) -> None:
        """Let each pointer follow the previous one about the same record."""
        last: dict[str, Item] = {}
        for pointer in self._pointers:
            if record_id := record_ids_by_entry_id.get(pointer["sk"]):
                if record_id in last:
                    self._previous_of_record[pointer["sk"]] = last[record_id]
                last[record_id] = pointer

    def list_appendable_entry_pointers(
        self, last_statement: Statement | None, *, limit: int, has_all_pending: bool
    ) -> list[Item]:
        """Return the first pointers that can be appended, in order.

        Unless `has_all_pending`, further pointers exist, and earlier links may be among them. Then a pointer that would
        open a gap in a chain waits, unless all pointers would.
        """
        if not has_all_pending and (gapless := self._list_first(limit, gapless_after=last_statement)):
            return gapless
        return self._list_first(limit)

    def _list_first(self, limit: int, *, gapless_after: Statement | None = None) -> list[Item]:
        """Return the first pointers, without those that would open a gap in the chains of a statement."""
        selected: dict[str, Item] = {}
        for pointer in self._pointers:
            if len(selected) >= limit:
                break
            if pointer["sk"] not in selected:  # A selected one has its predecessors before it.
                run = self._pointer_with_predecessors(pointer, selected)
                if not self._would_open_gap(run, gapless_after):
                    selected |= {each["sk"]: each for each in run}
        return [*selected.values()][:limit]

    def _pointer_with_predecessors(self, pointer: Item, selected: Collection[str]) -> list[Item]:
        """Return a pointer after all that it follows, without those that are selected already."""
        run: dict[str, Item] = {}
        waiting, expanded = [pointer], set(selected)
        while waiting:
            current = waiting[-1]
            sk = current["sk"]
            followed = () if sk in expanded else (self._previous_in_chain.get(sk), self._previous_of_record.get(sk))
            expanded.add(sk)
            waiting += [each for each in followed if each and each["sk"] not in expanded]
            if waiting[-1] is current:
                run[current["sk"]] = waiting.pop()
        return [*run.values()]

    def _would_open_gap(self, pointers: Sequence[Item], statement: Statement | None) -> bool:
        first = filter(None, (self._unread_positions_before.get(each["sk"]) for each in pointers))
        return statement is not None and any(statement.chain_state(chain).number < number for chain, number in first)
