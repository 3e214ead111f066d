"""The exception for concurrent modifications."""


class ConcurrentModification(Exception):
    """Another request changed a record after it was read. Read it again and retry."""
