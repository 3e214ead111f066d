"""Positions of migrations that go through records in the order of their ids."""

from uuid import UUID


def position_of_id(id_: str) -> int:
    """Return the 122 bits of a UUIDv7 that are not its version and variant.

    DynamoDB's numbers have up to 38 digits. These bits have up to 37, all 128 have up to 39.
    """
    number = UUID(id_).int
    time_ms, random_a, random_b = number >> 80, number >> 64 & 0xFFF, number & (1 << 62) - 1
    return time_ms << 74 | random_a << 62 | random_b


def id_at_position(position: int) -> str:
    """Return the UUIDv7 with this position."""
    time_ms, random_a, random_b = position >> 74, position >> 62 & 0xFFF, position & (1 << 62) - 1
    return str(UUID(int=time_ms << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b))
