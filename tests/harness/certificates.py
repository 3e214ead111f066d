"""A certificate authority for tests, which issues valid and invalid certificates for servers."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trustme import CA

from chalicelib.kernel.outbound.egress import reset_pool

_EXPIRED_NOT_BEFORE = datetime(2020, 1, 1, tzinfo=UTC)
_EXPIRED_NOT_AFTER = datetime(2020, 4, 1, tzinfo=UTC)


class CertificateAuthority:
    """A certificate authority. The service accepts its certificates after `trust`."""

    def __init__(self) -> None:
        self._ca = CA()

    def trust(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the service trust this authority and no other."""
        monkeypatch.setenv("SSL_CERT_FILE", str(self.write_certificate(folder)))
        reset_pool()

    def write_certificate(self, folder: Path) -> Path:
        """Write the certificate of the authority into a file of the folder, and return the file."""
        file = folder / "authority.pem"
        self._ca.cert_pem.write_to_path(str(file))
        return file

    def create_server_context(self, *names: str, is_expired: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server with these host names or IP addresses."""
        start, end = (_EXPIRED_NOT_BEFORE, _EXPIRED_NOT_AFTER) if is_expired else (None, None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names, not_before=start, not_after=end).configure_cert(context)
        return context

    def create_own_certificate_context(self) -> ssl.SSLContext:
        """Return the TLS context of a server that presents the self-signed certificate of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with self._ca.cert_pem.tempfile() as certificate, self._ca.private_key_pem.tempfile() as key:
            context.load_cert_chain(certificate, key)
        return context
