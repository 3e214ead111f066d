"""Read and change the DNS zone of a run: `python -m local dns set shop.example.com CNAME cname.atrium.localhost`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from dns.exception import DNSException

from local.paths import settings_file, write_private
from local.server.dns_server import build_rrset, read_zone


class DnsZoneError(Exception):
    """A record is invalid, or no run was found. The message says why."""


def zone_file_of_run(port: int | None) -> Path:
    """Return the zone file of a run, by default of the last one. Raises DnsZoneError."""
    settings = settings_file(port)
    if not settings.exists():
        raise DnsZoneError("No run was found. Start `make run`.")
    last: int | None = urlsplit(json.loads(settings.read_text())["public_url"]).port
    return zone_file(port or last or 0)


def zone_file(port: int) -> Path:
    """Return the zone file of the run on a port."""
    return settings_file(port).with_name("dns.json")


def set_values(file: Path, name: str, kind: str, values: Sequence[str]) -> None:
    """Replace the values of a name and type. Raises DnsZoneError."""
    try:
        build_rrset(_normalize(name), kind, values)
    except (DNSException, ValueError) as error:
        raise DnsZoneError(f"Invalid record of type {kind} for {name}: {error}.") from error
    zone = read_zone(file)
    zone.setdefault(_normalize(name), {})[kind] = list(values)
    write_private(file, json.dumps(zone, indent=2))


def remove_values(file: Path, name: str, kind: str | None) -> None:
    """Remove the records of a name, optionally of one type."""
    zone = read_zone(file)
    held = zone.pop(_normalize(name), {})
    left = {each: values for each, values in held.items() if kind and each != kind}
    write_private(file, json.dumps(zone | ({_normalize(name): left} if left else {}), indent=2))


def format_records(file: Path) -> Iterator[str]:
    """Yield a line for each record."""
    for name, held in sorted(read_zone(file).items()):
        for kind, values in held.items():
            yield from (f"{name} {kind} {value}" for value in values)


def _normalize(name: str) -> str:
    return name.lower().rstrip(".")
