"""What a write raises that lost a race."""


class ConcurrentModification(Exception):
    """Another request changed a record after it was read. Read it again, and decide again."""
