"""The modules that every platform has, by their ids, and what each needs to work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Definition:
    """A module. `depends_on`: the ids of those that have to be on, or it is off."""

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
"""In the order in which they are listed. A platform may have others, under ids of its own."""
