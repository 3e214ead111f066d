"""Cosignatures are those of C2SP tlog-cosignature, and only those of the given witness count."""

import base64

import pytest

from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import BadSignature, MalformedNote
from chalicelib.kernel.crypto.cosignatures import (
    COSIGNATURE,
    Cosignature,
    VerifierKey,
    parse_verifier_key,
    verify_cosignature,
)
from tests.harness.witnesses import FakeWitness

KEY = "witness.example/w1+a546cd44+BGcUzTMGyDAxW3TWV2qbXMtAdWofyHfzrImm+InN39ke"
TEXT = "atrium.example/anchors\n8\nUui3FnMBBYZBhFcjVWThyQDvJzhN8606gN3qa92CohQ=\n"
LINE = (
    "— witness.example/w1 pUbNRAAAAABrCyFS0mMLXW+ConoI3n/BM9UAXtzj7YCGhOxMIN1E6mbmieYSVFaJmBj0Qv2vmS9gFHS2LKTES5MYPlk3"
    "ovmf5jWGCg==\n"
)
"""A cosignature made by the witness aics-witness 0.1.0, an implementation that has no code in common with this one."""

LOG_LINE = (
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xe"
    "McTOAYQ8=\n"
)
"""A signature of another key, from the specification."""


def test_a_cosignature_of_another_implementation_is_valid():
    key = parse_verifier_key(KEY)
    assert (key.name, key.id.hex(), key.signature_type, str(key)) == (
        "witness.example/w1",
        "a546cd44",
        COSIGNATURE,
        KEY,
    )
    assert verify_cosignature(TEXT, LINE, key) == Cosignature(LINE.rstrip("\n"), 1795891538)
    assert verify_cosignature(TEXT, LOG_LINE + LINE, key).time == 1795891538


def test_the_witness_of_the_tests_makes_valid_cosignatures():
    witness = FakeWitness("w.example", {})
    line = witness.cosign(TEXT)
    assert verify_cosignature(TEXT, f"{line}\n", parse_verifier_key(witness.verifier_key)).line == line


@pytest.mark.parametrize(
    ("text", "lines", "error"),
    [
        (TEXT.replace("8", "9", 1), LINE, BadSignature),
        (TEXT, LINE.replace("pUbN", "pUbO"), BadSignature),  # another key id
        (TEXT, LINE.replace("witness.example/w1", "witness.example/w2"), BadSignature),
        (TEXT, LINE.replace("AAAABrCyFS", "AAAABrCyFT"), BadSignature),  # another time
        (TEXT, LOG_LINE, BadSignature),
        (TEXT, LINE + LINE.replace("AAAABrCyFS", "AAAABrCyFT"), BadSignature),
        (TEXT, "", MalformedNote),
        (TEXT, LINE.rstrip("\n"), MalformedNote),
        (TEXT, "garbage\n", MalformedNote),
        (TEXT, f"{LINE}\n", MalformedNote),
    ],
)
def test_anything_else_is_none(text, lines, error):
    with pytest.raises(error):
        verify_cosignature(text, lines, parse_verifier_key(KEY))


def test_a_cosignature_has_a_time():
    key = parse_verifier_key(KEY)
    short = checkpoints.Signature(key.name, key.id, bytes(64))
    with pytest.raises(MalformedNote):
        verify_cosignature(TEXT, f"{short}\n", key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "name+00000000",
        KEY.replace("a546cd44", "a546cd45"),
        KEY.replace("w1", "w2"),
        KEY.replace("+BGc", "+BGd"),
        f"{KEY}+",
        f" {KEY}",
        str(VerifierKey("name", bytes(31), COSIGNATURE)),
        str(VerifierKey("name", bytes(32), b"\x06")),
        "name+00000000+" + base64.b64encode(b"\x04").decode(),
    ],
)
def test_a_malformed_verifier_key_is_refused(text):
    with pytest.raises(ValueError, match="verifier key"):
        parse_verifier_key(text)
