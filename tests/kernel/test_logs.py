import logging

from tests.harness.api import Api


def test_a_line_is_written_once_although_chalice_has_a_logger_of_the_same_name(api: Api) -> None:
    assert api.get("/status").status == 200
    assert len(logging.getLogger("atrium").handlers) == 1
