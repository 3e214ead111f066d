"""Reference data and the status of the service, which every caller can read."""

from hypothesis import strategies as st

from tests.model.actions import action
from tests.model.model_run import ModelRun, Sender

_GET_OPERATIONS = {
    "countries": "get_country",
    "currencies": "get_currency",
    "languages": "get_language",
    "cities": "get_city",
}


@action(of=st.sampled_from([*_GET_OPERATIONS]))
def read_reference_data(run: ModelRun, by: Sender, of: str) -> None:
    """Read a list and its first record."""
    if response := run.request(by, f"list_{of}", query={"limit": 3}):
        first = response.json["items"][0]
        parameter = {"countries": "country_id", "currencies": "currency_id", "languages": "language_id"}.get(of)
        single = run.request(by, _GET_OPERATIONS[of], **{parameter or "city_id": first["id"]})
        assert single
        assert first.items() <= single.json.items()


@action()
def get_status(run: ModelRun, by: Sender) -> None:
    if response := run.request(by, "get_status"):
        assert response.json["status"] in ("ok", "degraded")  # It is degraded while messages wait for long.


@action()
def get_migrations_status(run: ModelRun, by: Sender) -> None:
    run.request(by, "get_migrations_status")
    run.request(by, "get_migrations_health")
