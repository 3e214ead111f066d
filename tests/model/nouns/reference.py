"""Reference data and how the service is: there for everybody, whoever they are."""

from hypothesis import strategies as st

from tests.model.actions import deed
from tests.model.story import By, Story

_ONES = {"countries": "get_country", "currencies": "get_currency", "languages": "get_language", "cities": "get_city"}


@deed(of=st.sampled_from([*_ONES]))
def look_up(story: Story, by: By, of: str) -> None:
    """Read a list, and the first of it by itself."""
    if answer := story.ask(by, f"list_{of}", query={"limit": 3}):
        first = answer.json["items"][0]
        parameter = {"countries": "country_id", "currencies": "currency_id", "languages": "language_id"}.get(of)
        one = story.ask(by, _ONES[of], **{parameter or "city_id": first["id"]})
        assert one
        assert first.items() <= one.json.items()


@deed()
def get_status(story: Story, by: By) -> None:
    if answer := story.ask(by, "get_status"):
        assert answer.json["status"] in ("ok", "degraded")  # It is that while messages wait for long.


@deed()
def get_migrations_status(story: Story, by: By) -> None:
    story.ask(by, "get_migrations_status")
    story.ask(by, "get_migrations_health")
