"""Creates the tenant of the catalogue's suites outside of pytest, for benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from chalicelib.kernel.core.settings import settings
from tests.catalogue.tenant_fixture import People, World
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Issuer
from tests.harness.external_servers import let_them_take_everything
from tests.harness.mailbox import SENDER, Mailbox
from tests.harness.workers import Workers

_ROLES: Final = ("owner", "admin", "editor", "member", "invited", "outsider")


@contextmanager
def standing_alone() -> Iterator[World]:
    """Create the tenant with AWS in memory, and yield it."""
    import_module("tests.conftest")  # This import sets the settings of tests.
    from app import app

    with TemporaryDirectory() as folder, cloud.aws_in_memory(), pytest.MonkeyPatch.context() as patched:
        issuer = Issuer(Path(folder))
        for name, value in {**issuer.settings(), "MAIL_FROM": SENDER}.items():
            patched.setenv(name, value)
        cloud.clear()
        Mailbox().open(patched)
        let_them_take_everything(patched)
        operator = issuer.person("operator", "operator", groups=["operators"])
        people = People(**{role: issuer.person(role, role) for role in _ROLES}, operator=operator, issuer=issuer)
        yield World.made(Api(app), Workers(app), people)
    settings.cache_clear()
