"""Creates the tenant of the catalogue's suites outside of pytest, for benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from chalicelib.kernel.core.settings import settings
from tests.catalogue.tenant_fixture import People, TenantFixture
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer
from tests.harness.external_servers import stub_external_servers
from tests.harness.mailbox import SENDER, Mailbox
from tests.harness.workers import Workers

_ROLES: Final = ("owner", "admin", "editor", "member", "invited", "outsider")


@contextmanager
def standalone_tenant() -> Iterator[TenantFixture]:
    """Create the tenant with AWS in memory, and yield it."""
    import_module("tests.conftest")  # This import sets the settings of tests.
    from app import app

    with TemporaryDirectory() as folder, memory_aws.aws_in_memory(), pytest.MonkeyPatch.context() as patched:
        issuer = Issuer(Path(folder))
        for name, value in {**issuer.settings(), "MAIL_FROM": SENDER}.items():
            patched.setenv(name, value)
        memory_aws.reset()
        Mailbox().start_recording(patched)
        stub_external_servers(patched)
        # Like most people, they have names of two words, each of which makes an item that finds them.
        operator = issuer.create_person("operator", "Operator Person", groups=["operators"])
        members = {role: issuer.create_person(role, f"{role.capitalize()} Person") for role in _ROLES}
        people = People(**members, operator=operator, issuer=issuer)
        yield TenantFixture.create(ApiClient(app), Workers(app), people)
    settings.cache_clear()
