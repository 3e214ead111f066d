"""Settings of the domains of platforms and sites."""

import re
from ipaddress import ip_address
from typing import Final

from pydantic import Field, ValidationInfo, field_validator

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.settings import SettingsSection

_DOMAIN: Final = re.compile(
    r"(?=.{1,200}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
)


class PlatformSettings(SettingsSection):
    """The service's own domain, and the addresses to which custom domains can point."""

    platforms_domain: str = Field(
        "atrium.localhost",
        description=(
            "The service's own domain. Platforms get subdomains of it, and custom domains point to `cname.` below it."
        ),
    )
    platforms_addresses: str = Field(
        "",
        description=(
            "Addresses to which an apex custom domain can point by A and AAAA records, separated by commas. Empty:"
            " only those of `cname.`, by ALIAS."
        ),
    )

    @field_validator("platforms_domain")
    @classmethod
    def _normalize_domain(cls, value: str, info: ValidationInfo) -> str:
        name = ascii_lower(value).removesuffix(".")
        if (not name or name.endswith(".localhost")) and info.data.get("stage") != "local":
            raise ValueError("must be set on a deployed stage, to a domain of yours")
        if not _DOMAIN.fullmatch(name):
            raise ValueError("must be a domain name such as atrium.example.com, without a scheme, port or path")
        return name

    @field_validator("platforms_addresses")
    @classmethod
    def _normalize_comma_separated_ip_addresses(cls, value: str) -> str:
        try:
            return ",".join(str(ip_address(address.strip())) for address in value.split(",") if value)
        except ValueError:
            raise ValueError("must be addresses separated by commas, such as 192.0.2.7,2001:db8::7") from None
