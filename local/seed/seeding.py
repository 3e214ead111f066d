"""The steps of a seed, and the report at its end."""

import json
from typing import Final
from urllib.parse import urlsplit

from local.paths import settings_file
from local.seed import events, leads, library, organization, platforms, sites, taxonomies
from local.seed.callers import SeedFailed, Service
from local.seed.content.company import MEMBERS, ORGANIZATION, OWNER
from local.seed.content.leads import OPERATOR
from local.seed.content.platforms import PLATFORMS

_PORT_OFFSET: Final = 1_472
_MAX_PORT: Final = 65_535


def receiver_port(port: int) -> int:
    """Return the port of the webhook receiver of a run: 9472 for a run on port 8000."""
    return port + _PORT_OFFSET if port + _PORT_OFFSET <= _MAX_PORT else port - _PORT_OFFSET


def service_url_of_run(port: int | None) -> str:
    """Return the URL of the service of the run on a port, by default of the last run. Raises SeedFailed."""
    if port:
        return f"http://127.0.0.1:{port}"
    file = settings_file(None)
    if not file.exists():
        raise SeedFailed("No run was found. Start `make run`.")
    return str(json.loads(file.read_text())["public_url"])


def seed(service: Service) -> str:
    """Add the sample company to a service, and return a report for the terminal. Raises SeedFailed."""
    port = urlsplit(str(service.http.base_url)).port or 0
    receiver = f"http://127.0.0.1:{receiver_port(port)}"
    company = organization.ensure_organization(service)
    organization.ensure_members(company)
    organization.ensure_integrations(company, receiver)
    events.ensure_events(company)
    seeded_platforms = [platforms.ensure_platform(company, content) for content in PLATFORMS]
    site = sites.ensure_site(company, seeded_platforms[0].record["id"])
    for content, platform in zip(PLATFORMS, seeded_platforms, strict=True):
        nodes = taxonomies.ensure_taxonomy(company, platform, content)
        taxonomies.ensure_attachments(company, platform, content, nodes, site.page_ids_by_path)
        platforms.ensure_home(
            company, platform, content, site.record["id"] if platform is seeded_platforms[0] else None
        )
    leads.ensure_leads(service)
    library.ensure_research_library(service, company)
    organization.ensure_log_export(company)
    return _report(service, company, site, receiver)


def _report(service: Service, company: organization.Company, site: sites.Site, receiver: str) -> str:
    url = str(service.http.base_url).rstrip("/")
    roles = {username: invitation["role"] for username, invitation in MEMBERS.items()}
    people = ", ".join(f"{username} ({role})" for username, role in {OWNER: "owner", **roles}.items())
    return f"""
{ORGANIZATION["name"]} is ready.

  organization  {company.id}
  people        {people}
  site          http://{site.record["host"]}:{urlsplit(url).port}/
  webhooks      one sends to {receiver}, where a run with SEED=1 listens. Without SEED=1, run
                .venv/bin/python -m local receive --port {urlsplit(receiver).port}

  OWNER=$(.venv/bin/python -m local token --name {OWNER})
  OPERATOR=$(.venv/bin/python -m local token --name {OPERATOR} --operator)
  curl -s {url}{company.path}/members -H "Authorization: Bearer $OWNER"
  curl -s {url}{company.path}/events -H "Authorization: Bearer $OWNER"
  curl -s {url}/research/outputs -H "Authorization: Bearer $OWNER"
  curl -s {url}/marketing-leads -H "Authorization: Bearer $OPERATOR"

The secrets of its API keys were not shown. To create a key of your own, whose secret is shown once:

  curl -s {url}{company.path}/api-keys -H "Authorization: Bearer $OWNER" \\
    -H 'Content-Type: application/json' -d '{{"name": "Mine", "scopes": ["read"]}}'
"""
