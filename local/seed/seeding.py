"""What one seed does, from the organization to what is told at its end."""

import json
from typing import Final
from urllib.parse import urlsplit

from local.paths import settings_of_run
from local.seed import leads, library, organization, platforms, sites, taxonomies
from local.seed.callers import NotSeeded, Service
from local.seed.content.company import MEMBERS, ORGANIZATION, OWNER
from local.seed.content.leads import OPERATOR
from local.seed.content.platforms import PLATFORMS

_APART: Final = 1_472
_MOST_PORT: Final = 65_535


def receiver_port(port: int) -> int:
    """Return where the program listens that a run on a port tells of its events: always the same, 9472 beside 8000."""
    return port + _APART if port + _APART <= _MOST_PORT else port - _APART


def address_of_run(port: int | None) -> str:
    """Return where the service of the run on a port answers, or of the one that was started last. Raises NotSeeded."""
    if port:
        return f"http://127.0.0.1:{port}"
    file = settings_of_run(None)
    if not file.exists():
        raise NotSeeded("No run was found. Start `make run`.")
    return str(json.loads(file.read_text())["public_url"])


def seed(service: Service) -> str:
    """Fill a service, and return what there is to look at. Raises NotSeeded."""
    port = urlsplit(str(service.http.base_url)).port or 0
    receiver = f"http://127.0.0.1:{receiver_port(port)}"
    company = organization.found(service)
    organization.let_people_in(company)
    organization.equip(company, receiver)
    running = [platforms.platform(company, content) for content in PLATFORMS]
    site = sites.site(company, running[0].record["id"])
    for content, platform in zip(PLATFORMS, running, strict=True):
        nodes = taxonomies.grow(company, platform, content)
        taxonomies.sort(company, platform, content, nodes, site.pages)
        platforms.open_with(company, platform, content, site.record["id"] if platform is running[0] else None)
    leads.gather(service)
    library.fill(service, company)
    organization.export_log(company)
    return _report(service, company, site, receiver)


def _report(service: Service, company: organization.Company, site: sites.Site, receiver: str) -> str:
    url = str(service.http.base_url).rstrip("/")
    roles = {username: invitation["role"] for username, invitation in MEMBERS.items()}
    people = ", ".join(f"{username} ({role})" for username, role in {OWNER: "owner", **roles}.items())
    return f"""
{ORGANIZATION["name"]} is there.

  organization  {company.id}
  people        {people}
  site          {url}/sites/{site.record["id"]}/pages/home
  webhooks      one is told at {receiver}, where SEED=1 lets a program listen; without it that is
                .venv/bin/python -m local receive --port {urlsplit(receiver).port}

  OWNER=$(.venv/bin/python -m local token --name {OWNER})
  OPERATOR=$(.venv/bin/python -m local token --name {OPERATOR} --operator)
  curl -s {url}{company.path}/members -H "Authorization: Bearer $OWNER"
  curl -s {url}/research/outputs -H "Authorization: Bearer $OWNER"
  curl -s {url}/marketing-leads -H "Authorization: Bearer $OPERATOR"

Its API keys were shown to nobody. One of your own is shown once, when it is made:

  curl -s {url}{company.path}/api-keys -H "Authorization: Bearer $OWNER" \\
    -H 'Content-Type: application/json' -d '{{"name": "Mine", "scopes": ["read"]}}'
"""
