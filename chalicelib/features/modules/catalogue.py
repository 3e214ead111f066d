"""The modules that every platform has, with their dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Definition:
    """A module of the catalogue. It is off unless all modules in `depends_on`, a tuple of ids, are on."""

    name: str
    depends_on: tuple[str, ...] = ()


CATALOGUE: Final[Mapping[str, Definition]] = {
    "home": Definition("Home"),
    "feed": Definition("Feed"),
    "discussions": Definition("Discussions"),
    "events": Definition("Events"),
    "projects": Definition("Projects"),
    "library": Definition("Library"),
    "directory": Definition("Directory"),
    "research": Definition("Research"),
    "courses": Definition("Courses"),
    "jobs": Definition("Jobs"),
    "announcements": Definition("Announcements"),
    "messaging": Definition("Messaging"),
}
"""Definitions by module id, in the order of lists. A platform may add modules with other ids."""
