"""A certificate authority of the tests, and the certificates that servers have from it, good ones and others."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trustme import CA

from chalicelib.kernel.outbound.egress import reset_pool

_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_NOT_QUITE_SO_LONG = datetime(2020, 4, 1, tzinfo=UTC)


class Authority:
    """Issues certificates; the service believes them once the authority is trusted."""

    def __init__(self) -> None:
        self._ca = CA()

    def trust(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the service trust this authority and no other."""
        monkeypatch.setenv("SSL_CERT_FILE", str(self.written(folder)))
        reset_pool()

    def written(self, folder: Path) -> Path:
        """Return a file in the folder that holds what to trust."""
        file = folder / "authority.pem"
        self._ca.cert_pem.write_to_path(str(file))
        return file

    def server(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """Return what a server of these names or addresses needs for TLS."""
        since, until = (_LONG_AGO, _NOT_QUITE_SO_LONG) if expired else (None, None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names, not_before=since, not_after=until).configure_cert(context)
        return context

    def itself(self) -> ssl.SSLContext:
        """Return what a server needs for TLS that shows the authority's own certificate, which it gave itself."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with self._ca.cert_pem.tempfile() as certificate, self._ca.private_key_pem.tempfile() as key:
            context.load_cert_chain(certificate, key)
        return context
