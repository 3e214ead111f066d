"""What is stored of an address that wants no more mail: never the address, only a keyed hash of it."""

from chalicelib.features.tenancy.email_suppressions.models import SuppressionOut
from chalicelib.kernel.storage.entity import Entity, system_log


class Suppression(Entity):
    """That an address wants no more mail of invitations."""

    kind, parameter = "mail.suppression", "suppression_id"
    pk, sk = "SUPPRESSED#{address_hash}", "#"
    output_model = SuppressionOut

    address_hash: str

    @property
    def log(self) -> str:
        """The system log of all that is about the address."""
        return system_log(self.address_hash)
