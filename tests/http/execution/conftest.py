"""Fixtures of lists."""

from collections.abc import Callable, Sequence

import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.named_lists import NAMES, NamedList, build_list
from tests.harness.organizations import (
    create_organization,
)


@pytest.fixture
def make_list(api: ApiClient, issuer: Issuer, operator: Person) -> Callable[..., NamedList]:
    """A function that returns one of the lists, with a record for each name."""

    def make(kind: str, names: Sequence[str] = NAMES) -> NamedList:
        organization = create_organization(api, issuer.create_person("zz-owner", "? owner"), name="Somewhere")
        named = build_list(api, issuer, operator, organization, kind)
        for name in names:
            named.add(name)
        return named

    return make
