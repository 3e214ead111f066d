"""The stored record of a suppressed e-mail address. It holds a keyed hash instead of the address."""

from chalicelib.features.tenancy.email_suppressions.models import SuppressionOut
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.log_ids import system_log_id
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS


class EmailSuppression(Entity):
    """An e-mail address that receives no more mails about invitations and memberships."""

    kind, parameter = "mail.suppression", "suppression_id"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    pk, sk = "SUPPRESSED#{address_hash}", "#"
    output_model = SuppressionOut

    address_hash: str

    @property
    def audit_log_id(self) -> str:
        """Return the id of the system log with the entries about the address."""
        return system_log_id(self.address_hash)
