from tests.harness.api import Api


class TestGetStatus:
    def test_anyone_reads_whether_the_service_is_well(self, api: Api) -> None:
        answer = api.get("/status")
        assert answer.status == 200
        assert answer.json["status"] == "ok"
        assert {check["name"]: check["status"] for check in answer.json["checks"]} == {
            "table": "ok", "queue": "ok", "due": "ok",
        }  # fmt: skip
