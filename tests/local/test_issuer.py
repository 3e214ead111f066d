"""The command `python -m local token`, and the development issuer."""

import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from uuid import UUID

import jwt
import pytest

from chalicelib.kernel.core.encoding import to_base64url
from local.__main__ import main
from local.server.issuer import AUDIENCE, ISSUER, Issuer, Person
from tests.local.conftest import write_settings


def decode_verified(token, folder):
    keys = jwt.PyJWKSet.from_json((folder / "jwks.json").read_text())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["ES256"], audience=AUDIENCE, issuer=ISSUER)


def test_the_command_prints_only_a_token(local_state, capsys):
    assert main(["token", "--name", "demo"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert len(output.out.splitlines()) == 1
    claims = decode_verified(output.out.strip(), local_state / "issuer")
    expected = {"name": "demo", "preferred_username": "demo", "email": "demo@example.com", "email_verified": True}
    assert expected.items() <= claims.items()
    assert "groups" not in claims
    assert 0 <= claims["iat"] + 12 * 60 * 60 - claims["exp"] + time.time() - claims["iat"] < 60


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, None),
        ({"auth_issuer": "https://login.example.com"}, ("AUTH_ISSUER is https://login.example.com", ISSUER)),
        ({"auth_audience": "web"}, ("AUTH_JWKS or AUTH_AUDIENCE",)),
    ],
)
@pytest.mark.parametrize("is_in_environment", [True, False])
def test_a_token_that_the_last_run_rejects_is_printed_with_a_warning(
    changes, texts, is_in_environment, local_state, monkeypatch, capsys
):
    write_settings(local_state, **{**Issuer().settings(), **({} if is_in_environment else changes)})
    for name, value in changes.items() if is_in_environment else ():
        monkeypatch.setenv(name.upper(), value)
    assert main(["token", "--name", "demo"]) == 0
    output = capsys.readouterr()
    assert decode_verified(output.out.strip(), local_state / "issuer")["name"] == "demo"
    assert bool(output.err) is bool(texts)
    assert all(text in output.err for text in texts or ())


def test_equal_names_have_equal_user_ids(tmp_path):
    subs = [decode_verified(Issuer(tmp_path / n).create_token(Person("demo")), tmp_path / n)["sub"] for n in ("a", "b")]
    assert subs[0] == subs[1]
    assert UUID(subs[0]).version == 5
    assert subs[0] != decode_verified(Issuer(tmp_path / "a").create_token(Person("other")), tmp_path / "a")["sub"]


def test_options_set_all_claims_of_the_user(local_state, capsys):
    sub = "01890a5d-ac96-774b-bcce-b302099a8057"
    options = ["--email", "ann@corp.example", "--sub", sub, "--full-name", "Ann Other", "--operator"]
    main(["token", "--name", "ann", *options, "--expires-in", "60"])
    claims = decode_verified(capsys.readouterr().out.strip(), local_state / "issuer")
    expected = {"sub": sub, "email": "ann@corp.example", "name": "Ann Other", "preferred_username": "ann"}
    assert {**expected, "groups": ["operators"]}.items() <= claims.items()
    assert claims["exp"] - claims["iat"] == 60


def test_a_user_id_must_be_a_uuid(capsys):
    with pytest.raises(SystemExit):
        main(["token", "--name", "ann", "--sub", "7"])
    assert "--sub" in capsys.readouterr().err


def test_the_key_file_is_private_and_the_key_id_is_a_thumbprint(tmp_path):
    folder = tmp_path / "issuer"
    with pytest.raises(jwt.ExpiredSignatureError):
        decode_verified(Issuer(folder).create_token(Person("demo"), expires_in=-60), folder)
    assert Issuer(folder).settings()["auth_jwks"] == str(folder / "jwks.json")
    assert stat.S_IMODE((folder / "private.pem").stat().st_mode) == 0o600
    (published,) = json.loads((folder / "jwks.json").read_text())["keys"]
    # RFC 7638, section 3: the required members, in the order of their names, without spaces.
    canonical = '{{"crv":"{crv}","kty":"{kty}","x":"{x}","y":"{y}"}}'.format(**published)
    assert published["kid"] == to_base64url(sha256(canonical.encode()).digest())
    assert "d" not in published


def test_concurrent_runs_create_one_key(tmp_path):
    folder = tmp_path / "issuer"
    with ThreadPoolExecutor(8) as runs:
        tokens = list(runs.map(lambda _: Issuer(folder).create_token(Person("demo")), range(8)))
    assert {decode_verified(token, folder)["name"] for token in tokens} == {"demo"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["issuer"]


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "issuer").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="issuer"):
        Issuer(tmp_path / "issuer").create_token(Person("demo"))
