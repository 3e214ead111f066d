"""The screens of integrations: webhooks, log streams, channels and event types."""

from typing import Final

from local.seed.callers import Service
from local.seed.content.leads import OPERATOR
from local.seed.organization import person_by_username
from tests.console.scenarios.scenario import Area, Scenario
from tests.harness.sample_deliveries import store_sample_deliveries


def webhook_ids(service: Service) -> dict[str, str]:
    """Return the ids of the sample organization, of a webhook, and of a failed delivery to it."""
    maud = service.caller_for(person_by_username("maud"))
    organization_id = maud.list_all("/organizations")[0]["id"]
    path = f"/organizations/{organization_id}"
    webhook = maud.list_all(f"{path}/webhooks")[0]
    entries = maud.list_all(f"{path}/audit-log", type="page.published")[:4]
    delivery_ids = store_sample_deliveries(webhook, entries)
    destination = {"type": "https", "url": "https://siem.example.com/atrium"}
    stream = maud.post(f"{path}/log-streams", {"destination": destination, "description": "Feeds the SIEM."})
    return {
        "organization": organization_id,
        "webhook": webhook["id"],
        "delivery": delivery_ids[0],
        "stream": stream["id"],
        "channel": maud.list_all(f"{path}/integration-channels")[0]["id"],
        "type": "gauge.inspected",
    }


WEBHOOK_AREA: Final = Area(
    scenarios={
        "/o/:organization/webhooks": Scenario(calls=1, dialogs=("create",)),
        "/o/:organization/webhooks/:webhook": Scenario(
            calls=2, dialogs=("edit", "test", "link", "rotate", "enable", "replay", "delete")
        ),
        "/o/:organization/webhooks/:webhook/deliveries/:delivery": Scenario(calls=1, dialogs=("retry",)),
        "/o/:organization/log-streams": Scenario(calls=1, dialogs=("create",)),
        "/o/:organization/log-streams/:stream": Scenario(
            calls=1, dialogs=("edit", "test", "rotate", "restart", "delete")
        ),
        "/o/:organization/channels": Scenario(
            calls=1, dialogs=("create", "edit:<channel>", "test:<channel>", "delete:<channel>")
        ),
        "/o/:organization/event-types": Scenario(calls=2, dialogs=("send",)),
        "/o/:organization/event-types/:type": Scenario(calls=2, dialogs=("send",)),
        "/operate/event-types": Scenario(calls=2, dialogs=("declare", "edit:<type>"), user=OPERATOR),
    },
    prepare=webhook_ids,
)
