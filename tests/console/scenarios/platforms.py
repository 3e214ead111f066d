"""The screens of platforms and their spaces."""

from typing import Final

from local.seed.callers import Service
from local.seed.organization import person_by_username
from tests.console.scenarios.scenario import Area, Scenario


def platform_ids(service: Service) -> dict[str, str]:
    """Return the ids of the sample organization, its first platform, and what the dialogs show."""
    maud = service.caller_for(person_by_username("maud"))
    platform = next(each for each in maud.list_all("/platforms") if each["slug"] == "arrel-watch")
    spaces = maud.list_all(f"/platforms/{platform['id']}/spaces")
    space = next(each for each in spaces if each["slug"] == "stewards")
    attachment = maud.list_all(f"/platforms/{platform['id']}/taxonomy-attachments")[0]
    return {
        "organization": platform["organizationId"],
        "platform": platform["id"],
        "space": space["id"],
        "node": attachment["nodeId"],
        "attachment": attachment["id"],
        "user": service.caller_for(person_by_username("lucja")).get("/me")["id"],
    }


PLATFORMS_AREA: Final = Area(
    scenarios={
        "/o/:organization/platforms": Scenario(calls=1, dialogs=("create",)),
        "/p/:platform": Scenario(calls=1, dialogs=("settings", "publish", "delete")),
        "/p/:platform/domain": Scenario(calls=1, dialogs=("verify", "link", "remove")),
        "/p/:platform/members": Scenario(calls=1, dialogs=("role:<user>", "remove:<user>", "add", "invite", "join")),
        "/p/:platform/spaces": Scenario(calls=1, dialogs=("create",)),
        "/p/:platform/spaces/:space": Scenario(calls=0, dialogs=("settings", "delete")),
        "/p/:platform/spaces/:space/members": Scenario(calls=1, dialogs=("role:<user>", "add")),
        "/p/:platform/spaces/:space/modules": Scenario(
            calls=2, dialogs=("override:feed", "inherit:feed", "inherit-all")
        ),
        "/p/:platform/spaces/:space/capabilities": Scenario(
            calls=1, dialogs=("add", "settings:file-store", "remove:file-store")
        ),
        "/p/:platform/theme": Scenario(calls=0),
        "/p/:platform/navigation": Scenario(calls=1),
        "/p/:platform/home": Scenario(calls=2),
        "/p/:platform/modules": Scenario(calls=1, dialogs=("settings:events", "reset:events", "add")),
        "/p/:platform/project-blocks": Scenario(calls=1, dialogs=("platforms:summer-low-flow",)),
        "/p/:platform/taxonomy": Scenario(
            calls=4,
            dialogs=("edit", "move", "create", "delete", "attach", "detach:<attachment>", "system-tags"),
            parameters="node=<node>",
        ),
    },
    prepare=platform_ids,
)
