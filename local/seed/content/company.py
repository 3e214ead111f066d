"""The organization, who is in it, and what it lets its programs do."""

from typing import Any, Final

Json = dict[str, Any]

OWNER: Final = "maud"

ORGANIZATION: Final[Json] = {
    "name": "Harrowmere Instruments",
    "slug": "harrowmere",
    "companyName": "Harrowmere Instruments",
    "companyLegalName": "Harrowmere Instruments Ltd.",
    "companyId": "EX000174",
    "companyCountry": "GB",
    "companyAddress": "The Old Pump House\n3 Weir Lane\nHarrowmere",
    "legalEmail": "legal@example.com",
    "supportEmail": "support@example.com",
}

NAMES: Final = {
    "maud": "Maud Ellery",
    "tomas": "Tomas Verrin",
    "ines": "Ines Calloway",
    "sunniva": "Sunniva Brandal",
    "devan": "Devan Pillay",
    "hattie": "Hattie Thornbeck",
    "piet": "Piet Haverlaan",
    "lucja": "Łucja Marczyk",
    "bola": "Bola Adeyinka",
    "osric": "Osric Penhallow",
    "wren": "Wren Askwith",
    "joao": "João Sabugal",
    "mirja": "Mirja Koskelin",
}
"""What people are called, by their usernames. Each address is `<username>@example.com`."""

MEMBERS: Final[dict[str, Json]] = {
    "tomas": {"role": "admin", "message": "You run the platforms, so you should have the keys to them."},
    "ines": {"role": "admin", "message": "For people, contracts and everything with a signature."},
    "sunniva": {"role": "editor", "message": "The site is yours."},
    "devan": {"role": "editor", "message": "For the guides and the taxonomy."},
    "hattie": {"role": "member", "message": "Welcome to the workshop."},
    "piet": {"role": "member", "message": "Welcome to the workshop."},
    "lucja": {"role": "member", "message": "Good to have you in the field team."},
    "bola": {"role": "member"},
}
"""Whom the owner invites, and who comes."""

PENDING: Final[Json] = {
    "email": "r.lindqvist@example.com",
    "role": "member",
    "message": "You start on the first of the month; this is where the calibration notes are.",
    "expiresInDays": 30,
}
"""Who has not answered yet."""

DECLINED: Final = ("osric", {"role": "editor", "message": "Would you write for our guides now and then?"})
"""Who was invited, and does not want to come."""

API_KEYS: Final[list[Json]] = [
    {"name": "Nightly export", "scopes": ["read", "audit-log:read"]},
    {"name": "Website build", "scopes": ["sites:read"], "allowedIps": ["192.0.2.0/24"]},
    {"name": "Gauge gateway", "scopes": ["write", "webhooks:read"], "expiresAt": "2036-01-01T00:00:00Z"},
]

WEBHOOKS: Final[list[Json]] = [
    {"url": "{receiver}/events", "events": ["*"], "description": "Feeds the stock room's display."},
    {
        "url": "http://127.0.0.1:9/events",
        "events": ["page.published", "site.*"],
        "description": "The old newsletter. Its server is gone, and nobody has removed this.",
    },
]
"""A webhook whose receiver lives while the run does, and one where nobody listens: port 9 of this machine."""

CHANNEL: Final[Json] = {
    "provider": "slack",
    "name": "#river-desk",
    "events": ["platform.*", "organization.member.*", "page.published"],
    "config": {"webhookUrl": "{receiver}/chat/river-desk"},
}
