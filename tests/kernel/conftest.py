"""Fixtures of the tests below HTTP."""

import json
from collections.abc import Iterator

import pytest

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.jwks import get_issuer_keys
from tests.kernel.identity.issued_tokens import AUDIENCE, ISSUER, KEY_SET


@pytest.fixture(scope="module")
def token_issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings of an issuer whose key set is a file."""
    key_set = tmp_path_factory.mktemp("issuer") / "jwks.json"
    key_set.write_text(json.dumps(KEY_SET))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTH_JWKS", str(key_set))
        environment.setenv("AUTH_ISSUER", ISSUER)
        environment.setenv("AUTH_AUDIENCE", AUDIENCE)
        settings.cache_clear()
        yield
    settings.cache_clear()
    get_issuer_keys.cache_clear()
