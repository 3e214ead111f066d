"""The modules that every platform has, with their dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class ModuleDefinition:
    """A module of the catalogue. It is off unless all modules in `depends_on`, a tuple of ids, are on."""

    name: str
    depends_on: tuple[str, ...] = ()


MODULE_CATALOGUE: Final[Mapping[str, ModuleDefinition]] = {
    "home": ModuleDefinition("Home"),
    "feed": ModuleDefinition("Feed"),
    "discussions": ModuleDefinition("Discussions"),
    "events": ModuleDefinition("Events"),
    "projects": ModuleDefinition("Projects"),
    "library": ModuleDefinition("Library"),
    "directory": ModuleDefinition("Directory"),
    "research": ModuleDefinition("Research"),
    "courses": ModuleDefinition("Courses"),
    "jobs": ModuleDefinition("Jobs"),
    "announcements": ModuleDefinition("Announcements"),
    "messaging": ModuleDefinition("Messaging"),
}
"""Definitions by module id, in the order of lists. A platform may add modules with other ids."""
