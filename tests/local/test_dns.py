import json
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from dns import message, query, rcode, resolver
from dns.resolver import NoResolverConfiguration

from local.__main__ import main
from local.paths import ROOT
from local.server import dns_server as module
from local.server.dns_server import Nameserver, of_file
from local.server.run import free_port
from tests.harness.nameserver import Nameserver as Another

PROOF = "_atrium-challenge.shop.example.com"


def ran(state: Path, port: int) -> Path:
    """Leave what a run on a port leaves, and return where it stands what its DNS says."""
    for folder in (state, state / str(port)):
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"public_url": f"http://127.0.0.1:{port}"}))
    return state / str(port) / "dns.json"


def asked(address: str, name: str, kind: str) -> list[str]:
    """Return what a nameserver says that a name holds; or why it says nothing."""
    host, _, port = address.partition(":")
    answer = query.udp(message.make_query(name, kind), host, port=int(port), timeout=5)
    if answer.rcode() != rcode.NOERROR:
        return [rcode.to_text(answer.rcode())]
    return [record.to_text() for records in answer.answer for record in records]


@pytest.fixture
def zone(state_folder: Path) -> Path:
    return ran(state_folder, 8000)


@pytest.fixture
def address(zone: Path) -> Iterator[str]:
    """Where the run's nameserver answers."""
    nameserver = Nameserver(of_file(zone))
    nameserver.start()
    yield nameserver.address
    nameserver.stop()


class TestTheCommand:
    def test_what_is_set_is_listed_and_removed(self, zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["dns", "set", PROOF, "TXT", "one", "two"]) == 0
        assert main(["dns", "set", "Shop.Example.COM.", "cname", "cname.atrium.localhost"]) == 0
        assert main(["dns", "set", PROOF, "TXT", "atrium-verify=1"]) == 0
        assert main(["dns", "list"]) == 0
        said = capsys.readouterr().out
        assert said == f"{PROOF} TXT atrium-verify=1\nshop.example.com CNAME cname.atrium.localhost\n"
        assert stat.S_IMODE(zone.stat().st_mode) == 0o600
        assert main(["dns", "remove", "shop.example.com"]) == 0
        assert main(["dns", "remove", PROOF, "TXT"]) == 0
        assert main(["dns", "remove", "never.was"]) == 0
        assert main(["dns", "list"]) == 0
        assert capsys.readouterr().out == ""

    def test_a_type_can_be_removed_alone(self, zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert zone.parent.exists()
        main(["dns", "set", "shop.example.com", "A", "192.0.2.7"])
        main(["dns", "set", "shop.example.com", "AAAA", "2001:db8::7"])
        main(["dns", "remove", "shop.example.com", "a"])
        main(["dns", "list"])
        assert capsys.readouterr().out == "shop.example.com AAAA 2001:db8::7\n"

    def test_another_run_is_named_by_its_port(self, state_folder: Path, zone: Path) -> None:
        other = ran(state_folder, 8001)
        ran(state_folder, 8000)
        main(["dns", "--port", "8001", "set", "a.example", "TXT", "x"])
        assert other.exists()
        assert not zone.exists()

    @pytest.mark.usefixtures("zone")
    @pytest.mark.parametrize("record", [("shop.example", "A", "here"), ("a..b", "TXT", "x"), ("x" * 64, "TXT", "x")])
    def test_what_can_be_no_record_is_refused(
        self, record: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["dns", "set", *record]) == 1
        assert f"Invalid record of type {record[1]} for {record[0]}" in capsys.readouterr().err

    @pytest.mark.usefixtures("state_folder")
    def test_without_a_run_it_says_what_to_do(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["dns", "list"]) == 1
        assert "make run" in capsys.readouterr().err


class TestTheNameserver:
    def test_it_answers_what_was_set_from_then_on(self, address: str) -> None:
        assert asked(address, PROOF, "TXT") == ["NXDOMAIN"]
        main(["dns", "set", PROOF, "TXT", "atrium-verify=1"])
        assert asked(address, PROOF, "TXT") == ['"atrium-verify=1"']
        assert asked(address, PROOF.upper(), "A") == []
        main(["dns", "remove", PROOF])
        assert asked(address, PROOF, "TXT") == ["NXDOMAIN"]

    def test_it_follows_other_names(self, address: str) -> None:
        main(["dns", "set", "shop.example.com", "CNAME", "cname.atrium.localhost"])
        assert asked(address, "shop.example.com", "A") == ["cname.atrium.localhost.", "127.0.0.1"]
        main(["dns", "set", "loop.example.com", "CNAME", "loop.example.com"])
        assert set(asked(address, "loop.example.com", "A")) == {"loop.example.com."}

    def test_all_below_localhost_is_this_machine(self, address: str) -> None:
        assert asked(address, "cname.atrium.localhost", "A") == ["127.0.0.1"]
        assert asked(address, "engines.atrium.localhost", "AAAA") == ["::1"]

    def test_of_what_can_be_somebodys_it_asks_the_machines_own_servers(
        self, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Another() as real:
            real.set_replies("hooks.real.dev", ["203.0.113.7"])
            real.set_replies("hooks.example.com", ["203.0.113.7"])
            host, _, port = real.address.partition(":")
            monkeypatch.setattr(module, "_own_servers", lambda: [host])
            monkeypatch.setattr(module, "_PORT", int(port))
            assert asked(address, "hooks.real.dev", "A") == ["203.0.113.7"]
            assert asked(address, "hooks.example.com", "A") == ["NXDOMAIN"]
        monkeypatch.setattr(module, "_FORWARD_SECONDS", 0.2)
        assert asked(address, "hooks.real.dev", "A") == ["SERVFAIL"]

    def test_a_machine_without_servers_can_not_tell(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def unconfigured() -> None:
            raise NoResolverConfiguration

        monkeypatch.setattr(resolver, "Resolver", unconfigured)
        assert asked(address, "hooks.real.dev", "A") == ["SERVFAIL"]

    def test_a_port_that_is_taken_for_datagrams_is_none(self, zone: Path) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            with pytest.raises(OSError, match="in use"):
                Nameserver(of_file(zone), taken.getsockname()[1])

    def test_it_runs_as_a_process(self, tmp_path: Path) -> None:
        zone, port = tmp_path / "dns.json", free_port()
        zone.write_text(json.dumps({"shop.example.com": {"A": ["192.0.2.7"]}}))
        command = [sys.executable, "-m", "local.server.dns_server", str(port), str(zone)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            _until_it_listens(port)
            assert asked(f"127.0.0.1:{port}", "shop.example.com", "A") == ["192.0.2.7"]
            process.terminate()
        assert process.returncode != 1


def _until_it_listens(port: int) -> None:
    deadline = monotonic() + 20
    while monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            sleep(0.05)
        else:
            return
    raise AssertionError("it doesn't listen")
