"""Reference data and the status of the service, which every caller can read."""

from hypothesis import strategies as st

from tests.model.actions import action
from tests.model.model_run import ModelRun, Sender

_SINGULARS = {"countries": "country", "currencies": "currency", "languages": "language", "cities": "city"}


@action(of=st.sampled_from([*_SINGULARS]))
def read_reference_data(run: ModelRun, by: Sender, of: str) -> None:
    if response := run.request(by, f"list_{of}", query={"limit": 3}):
        first, singular = response.json["items"][0], _SINGULARS[of]
        single = run.request(by, f"get_{singular}", **{f"{singular}_id": first["id"]})
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
