"""Fixtures: people and external servers of the catalogue's suites, packages and a simulated account."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from infrastructure import package
from tests.catalogue.conftest import external_servers, people
from tests.infrastructure.simulated_account import BOOTSTRAP, Account, run_account

__all__ = ["external_servers", "people"]


@pytest.fixture(scope="session")
def build_package(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that builds the package for a version of Python. Tests that use it belong to the group `package`."""
    folder = tmp_path_factory.mktemp("packages")
    return cache(lambda version: package.build_package(version, folder))


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An empty account, with a copy of the project."""
    with run_account(tmp_path_factory.mktemp("project")) as account:
        yield account


@pytest.fixture(scope="module")
def bootstrapped(account: Account) -> Account:
    """The account with a bootstrapped stage."""
    account.run_checked(*BOOTSTRAP)
    further = {"AUTH_OPERATOR_GROUP": "staff", "AUTH_CLAIM_EMAIL": "https://x.example/email,email"}
    assert further.items() <= account.variables().items()
    return account
