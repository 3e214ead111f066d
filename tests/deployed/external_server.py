"""A server of somebody else's that a deployed stage reaches as it does on AWS: over TLS, at a port it may send to."""

import os
import sys
from pathlib import Path
from typing import Final

from local.server.issuer import Issuer
from tests.harness.certificates import Authority
from tests.harness.receiver import Receiver, Reply

_PORT: Final = 8443
_KEYS: Final = "/jwks.json"


class Outside(Receiver):
    """It is believed by whoever believes the certificate in the file `authority`."""

    def __init__(self, folder: Path) -> None:
        issuing = Authority()
        self.authority = issuing.written(folder)
        host = _address()
        super().__init__(host, _PORT, issuing.server(host))

    def keys_of(self, issuer: Issuer) -> str:
        """Return where an issuer's keys are published here."""
        self.answers[_KEYS] = Reply(body=Path(issuer.settings()["auth_jwks"]).read_bytes())
        return self.at(str(self.server_address[0]), _KEYS)


def _address() -> str:
    # On Linux all of 127.0.0.0/8 is this machine: every run has an address of its own, where the port is free.
    own = os.getpid()
    return f"127.{64 + (own >> 16 & 63)}.{own >> 8 & 255}.{own & 255}" if sys.platform == "linux" else "127.0.0.1"
