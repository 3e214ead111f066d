"""The command `python -m local migrate`."""

import pytest

from chalicelib.features.admin.migrations.logic import runner
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from local.__main__ import main


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("arguments", [[], ["--port", "8000"]])
def test_pending_migrations_are_applied_and_printed(arguments, capsys):
    assert main(["migrate", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": applied in ")[0] for line in lines] == [migration.id for migration in MIGRATIONS]
    assert main(["migrate", *arguments]) == 0
    assert capsys.readouterr().out == "No migrations are pending.\n"


@pytest.mark.usefixtures("run_settings")
def test_a_failed_migration_is_printed_with_its_error(monkeypatch, capsys):
    broken = Migration("0001-lost", "Has no module.", "0" * 64, "chalicelib.lost")
    monkeypatch.setattr(runner.apply_migrations_yielding_outcomes, "__defaults__", ((broken,),))
    assert main(["migrate"]) == 1
    assert "0001-lost: failed. A step ended by ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.usefixtures("local_state")
def test_without_a_run_the_command_fails_with_a_hint(capsys):
    assert main(["migrate", "--port", "8001"]) == 1
    assert "Start `make run`" in capsys.readouterr().err
