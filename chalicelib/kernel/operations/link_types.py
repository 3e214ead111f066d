"""Types of signed links: what a link is about, and the right that its creator needs as long as it is used."""

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.kernel.identity.signed_links import SignedLink
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.storage.entity import Entity, ItemKey


@dataclass(frozen=True)
class LinkType:
    """A type of signed links, which operations list in `link_types`.

    `name`: in tokens and responses, at most 16 ASCII characters. `page_path`: the path of the page that a link opens.
    `access`: the rule that the creator of a link has to fulfil, in the container whose id is in the path.
    `record_type`: the type of the record that a link is about, which is in that container.
    """

    name: str
    page_path: str
    access: RequireRole
    record_type: type[Entity]

    def path_parameters(self, link: SignedLink) -> Mapping[str, str]:
        """Return the path parameters of the record that a link is about, and of its container."""
        return {
            self.record_type.parameter: link.record_id,
            self.access.container_or_record_parameter: link.container_id,
        }

    def record_key(self, link: SignedLink) -> ItemKey:
        """Return the item key of the record that a link is about."""
        return self.record_type.make_item_key(**self.path_parameters(link), id=link.record_id)
