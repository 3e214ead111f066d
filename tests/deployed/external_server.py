"""An external server that a deployed stage calls as it does on AWS: over TLS, at an allowed port."""

import os
import sys
from pathlib import Path
from typing import Final

from local.server.issuer import Issuer
from tests.harness.certificates import CertificateAuthority
from tests.harness.receiver import Receiver, Reply

_PORT: Final = 8443
_JWKS_PATH: Final = "/jwks.json"


class ExternalServer(Receiver):
    """An external server. Clients trust it by the certificate in the file `authority`."""

    def __init__(self, folder: Path) -> None:
        authority = CertificateAuthority()
        self.authority = authority.write_certificate(folder)
        host = _loopback_address()
        super().__init__(host, _PORT, authority.create_server_context(host))

    def publish_keys(self, issuer: Issuer) -> str:
        """Publish an issuer's keys and return their URL."""
        self.replies_by_path[_JWKS_PATH] = Reply(body=Path(issuer.settings()["auth_jwks"]).read_bytes())
        return self.url_at(str(self.server_address[0]), _JWKS_PATH)


def _loopback_address() -> str:
    # On Linux all of 127.0.0.0/8 is local, so every test run has its own address, where the port is free.
    process_id = os.getpid()
    return (
        f"127.{64 + (process_id >> 16 & 63)}.{process_id >> 8 & 255}.{process_id & 255}"
        if sys.platform == "linux"
        else "127.0.0.1"
    )
