"""`python -m local migrate`."""

import pytest

from chalicelib.features.admin.migrations.logic import runner
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from local.__main__ import main


@pytest.mark.usefixtures("local_run")
@pytest.mark.parametrize("words", [[], ["--port", "8000"]])
def test_what_is_pending_is_applied_with_a_line_for_each(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": applied in ")[0] for line in lines] == [migration.id for migration in MIGRATIONS]
    assert main(["migrate", *words]) == 0
    assert capsys.readouterr().out == "Nothing was left to be applied.\n"


@pytest.mark.usefixtures("local_run")
def test_one_that_fails_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Migration("0001-lost", "Does what nobody knows.", "0" * 64, "chalicelib.lost")
    monkeypatch.setattr(runner.apply_pending, "__defaults__", ((lost,),))
    assert main(["migrate"]) == 1
    assert "0001-lost: failed. A step ended by ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.usefixtures("state_folder")
def test_where_nothing_runs_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "--port", "8001"]) == 1
    assert "Start `make run`" in capsys.readouterr().err
