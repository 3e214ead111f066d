"""The command `python -m local dns`, and the nameserver of a run."""

import json
import socket
import stat
import subprocess
import sys
from unittest.mock import Mock

import pytest
from dns import message, query, rcode, resolver
from dns.resolver import NoResolverConfiguration

from local.__main__ import main
from local.paths import ROOT
from local.server import dns_server as dns_server_module
from local.server.dns_server import Nameserver, zone_responder
from local.server.run import free_port
from tests.harness.nameserver import Nameserver as UpstreamNameserver
from tests.harness.waiting import wait_until
from tests.local.conftest import write_settings

PROOF_NAME = "_atrium-challenge.shop.example.com"


def write_run_settings(local_state, port):
    """Write the settings files of a run on a port, and return the path of its DNS zone."""
    for folder in (local_state, local_state / str(port)):
        write_settings(folder, public_url=f"http://127.0.0.1:{port}")
    return local_state / str(port) / "dns.json"


def query_records(address, name, kind):
    """Query a nameserver, and return the records, or the error code of the response."""
    host, _, port = address.partition(":")
    response = query.udp(message.make_query(name, kind), host, port=int(port), timeout=60)
    if response.rcode() != rcode.NOERROR:
        return [rcode.to_text(response.rcode())]
    return [record.to_text() for records in response.answer for record in records]


@pytest.fixture
def zone(local_state):
    return write_run_settings(local_state, 8000)


@pytest.fixture
def address(zone):
    """The address of the run's nameserver."""
    nameserver = Nameserver(zone_responder(zone))
    nameserver.start()
    yield nameserver.address
    nameserver.stop()


def test_records_are_set_listed_and_removed(zone, capsys):
    assert main(["dns", "set", PROOF_NAME, "TXT", "one", "two"]) == 0
    assert main(["dns", "set", "Shop.Example.COM.", "cname", "cname.atrium.localhost"]) == 0
    assert main(["dns", "set", PROOF_NAME, "TXT", "atrium-verify=1"]) == 0
    assert main(["dns", "list"]) == 0
    output = capsys.readouterr().out
    assert output == f"{PROOF_NAME} TXT atrium-verify=1\nshop.example.com CNAME cname.atrium.localhost\n"
    assert stat.S_IMODE(zone.stat().st_mode) == 0o600
    assert main(["dns", "remove", "shop.example.com"]) == 0
    assert main(["dns", "remove", PROOF_NAME, "TXT"]) == 0
    assert main(["dns", "remove", "never.was"]) == 0
    main(["dns", "set", "shop.example.com", "A", "192.0.2.7"])
    main(["dns", "set", "shop.example.com", "AAAA", "2001:db8::7"])
    main(["dns", "remove", "shop.example.com", "a"])
    assert main(["dns", "list"]) == 0
    assert capsys.readouterr().out == "shop.example.com AAAA 2001:db8::7\n"


def test_the_port_selects_another_run(local_state, zone):
    other_zone = write_run_settings(local_state, 8001)
    write_run_settings(local_state, 8000)
    main(["dns", "--port", "8001", "set", "a.example", "TXT", "x"])
    assert (other_zone.exists(), zone.exists()) == (True, False)


@pytest.mark.parametrize("record", [("shop.example", "A", "here"), ("a..b", "TXT", "x"), ("x" * 64, "TXT", "x")])
def test_an_invalid_record_is_rejected(record, zone, capsys):
    assert main(["dns", "set", *record]) == 1
    assert f"Invalid record of type {record[1]} for {record[0]}" in capsys.readouterr().err


def test_changes_of_records_take_effect_at_once(address):
    assert query_records(address, PROOF_NAME, "TXT") == ["NXDOMAIN"]
    main(["dns", "set", PROOF_NAME, "TXT", "atrium-verify=1"])
    assert query_records(address, PROOF_NAME, "TXT") == ['"atrium-verify=1"']
    assert query_records(address, PROOF_NAME.upper(), "A") == []
    main(["dns", "remove", PROOF_NAME])
    assert query_records(address, PROOF_NAME, "TXT") == ["NXDOMAIN"]


def test_cname_records_are_followed_and_names_below_localhost_resolve_to_the_loopback_addresses(address):
    main(["dns", "set", "shop.example.com", "CNAME", "cname.atrium.localhost"])
    assert query_records(address, "shop.example.com", "A") == ["cname.atrium.localhost.", "127.0.0.1"]
    main(["dns", "set", "loop.example.com", "CNAME", "loop.example.com"])
    assert set(query_records(address, "loop.example.com", "A")) == {"loop.example.com."}
    assert query_records(address, "cname.atrium.localhost", "A") == ["127.0.0.1"]
    assert query_records(address, "engines.atrium.localhost", "AAAA") == ["::1"]


def test_unreserved_names_are_forwarded_to_the_systems_nameservers(address, monkeypatch):
    with UpstreamNameserver() as upstream:
        upstream.set_replies("hooks.real.dev", ["203.0.113.7"])
        upstream.set_replies("hooks.example.com", ["203.0.113.7"])
        host, _, port = upstream.address.partition(":")
        monkeypatch.setattr(dns_server_module, "_system_servers", lambda: [host])
        monkeypatch.setattr(dns_server_module, "_PORT", int(port))
        assert query_records(address, "hooks.real.dev", "A") == ["203.0.113.7"]
        assert query_records(address, "hooks.example.com", "A") == ["NXDOMAIN"]
    monkeypatch.setattr(dns_server_module, "_FORWARD_TIMEOUT_SECONDS", 0.2)
    assert query_records(address, "hooks.real.dev", "A") == ["SERVFAIL"]


def test_without_system_nameservers_forwarding_fails(address, monkeypatch):
    monkeypatch.setattr(resolver, "Resolver", Mock(side_effect=NoResolverConfiguration))
    assert query_records(address, "hooks.real.dev", "A") == ["SERVFAIL"]


def test_a_port_that_is_in_use_for_udp_is_rejected(zone):
    with socket.socket(type=socket.SOCK_DGRAM) as udp_socket:
        udp_socket.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="in use"):
            Nameserver(zone_responder(zone), udp_socket.getsockname()[1])


def test_the_nameserver_runs_as_a_process(tmp_path):
    zone, port = tmp_path / "dns.json", free_port()
    zone.write_text(json.dumps({"shop.example.com": {"A": ["192.0.2.7"]}}))
    command = [sys.executable, "-m", "local.server.dns_server", str(port), str(zone)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        wait_until(lambda: is_listening(port))
        assert query_records(f"127.0.0.1:{port}", "shop.example.com", "A") == ["192.0.2.7"]
        process.terminate()
    assert process.returncode != 1


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
