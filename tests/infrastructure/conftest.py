"""Fixtures: people and external servers of the catalogue's suites, and packages, each built once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from infrastructure import package
from tests.catalogue.conftest import external_servers, people

__all__ = ["external_servers", "people"]


@pytest.fixture(scope="session")
def build_package(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that builds the package for a version of Python. Tests that use it belong to the group `package`."""
    folder = tmp_path_factory.mktemp("packages")
    return cache(lambda version: package.build_package(version, folder))
