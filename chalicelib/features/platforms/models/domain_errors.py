"""Descriptions of the errors that checks of a custom domain find."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from chalicelib.features.platforms.models.domain_names import is_same_or_subdomain

_NO_CNAME_AT_APEX: Final = "An apex can have no CNAME record."
_NEXT_CHECK_ADVICE: Final = "The service tries again at `nextCheckAt`. If it persists, check the domain's name servers."

_DESCRIPTIONS_WITHOUT_RECORD: Final[Mapping[str, str]] = {
    "DNS_TIMEOUT": f"The name servers of {{domain}} did not answer in time. {_NEXT_CHECK_ADVICE}",
    "DNS_FAILURE": f"The name servers of {{domain}} answered with an error. {_NEXT_CHECK_ADVICE}",
    "DOMAIN_TAKEN": (
        "The DNS records of {domain} are right, but another platform has verified this domain. If it is yours, remove"
        " it from the other platform, or remove that platform's TXT record. Then send `verify`."
    ),
}
_ADVICE_WITHOUT_RECORD: Final[Mapping[str, str]] = {
    "TXT_NOT_FOUND": "Add one with the value {expected}.",
    "CNAME_MISMATCH": "Add one with the value {expected}.",
    "APEX_NEEDS_A_OR_ALIAS": f"Point it to {{expected}} with {{types}} records. {_NO_CNAME_AT_APEX}",
}
"""What to do if DNS has no record at the name."""
_ADVICE: Final[Mapping[str, str]] = {
    "TXT_MISMATCH": "Add another TXT record with the value {expected}. Other values may stay.",
    "CNAME_MISMATCH": "Point it to {expected} with a CNAME record, and remove its other CNAME, A and AAAA records.",
    "APEX_NEEDS_A_OR_ALIAS": (
        f"Point it to {{expected}} with {{types}} records, and remove its other A and AAAA records. {_NO_CNAME_AT_APEX}"
    ),
}
_MAX_OBSERVED_VALUES: Final = 3
"""Observed values of a DNS record that an error message names."""


def describe_domain_error(code: str, domain: str, records: Iterable[Mapping[str, Any]]) -> str:
    """Return what a check of a domain observed, what it expected, and what to do.

    `records`: the required DNS records with the observed values, in snake case.
    """
    if code in _DESCRIPTIONS_WITHOUT_RECORD:
        return _DESCRIPTIONS_WITHOUT_RECORD[code].format(domain=domain)
    records = list(records)
    ownership, routing = ([each for each in records if each["purpose"] == name] for name in ("ownership", "routing"))
    is_about_ownership = code.startswith("TXT_")
    required = ownership if is_about_ownership else routing
    is_missing = not any(record["observed"] for record in required)
    advice = (_ADVICE_WITHOUT_RECORD if is_missing else _ADVICE)[code].format_map(_names_of_expected(required))
    missing_routing = [record for record in routing if is_about_ownership and not record["ok"]]
    causes = _describe_likely_causes(required)
    return " ".join([_describe_observation(required), advice, *causes, *_describe_missing_routing(missing_routing)])


def describe_deadline(status: str, fails_at: str | None) -> str:
    """Return a sentence about what happens to a domain at `fails_at`; an empty text without that time."""
    if fails_at is None:
        return ""
    if status == "verified":
        return f"The domain works until {fails_at}. It lapses then if its TXT record is still missing."
    return f"The claim fails at {fails_at} unless the domain is verified by then."


def _names_of_expected(required: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the expected values and the types of records, as texts."""
    return {
        "expected": " and ".join(record["expected"] for record in required),
        "types": " and ".join(dict.fromkeys(record["type"] for record in required)),
    }


def _describe_missing_routing(required: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence about the records that route a domain, which is not routed either."""
    if required:
        names = _names_of_expected(required)
        yield f"To route visitors, {required[0]['name']} also has to point to {names['expected']} ({names['types']})."
        if required[0]["type"] != "CNAME":
            yield _NO_CNAME_AT_APEX
        yield from _describe_likely_causes(required)


def _describe_likely_causes(required: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each usual mistake that the observed values of records show."""
    for record in required:
        expected = record["expected"]
        zones = [value.removeprefix(f"{expected}.") for value in record["observed"] if value.startswith(f"{expected}.")]
        if record["type"] == "TXT" and any(value.strip("\"' ") == expected for value in record["observed"]):
            yield "The observed value contains quotation marks. Enter it without them."
        if record["type"] == "CNAME" and any(is_same_or_subdomain(record["name"], zone) for zone in zones):
            yield f"The DNS provider appended the zone to the value. Enter it with a dot at the end: '{expected}.'"


def _describe_observation(required: Sequence[Mapping[str, Any]]) -> str:
    name = required[0]["name"]
    observed = [*dict.fromkeys(value for record in required for value in record["observed"])]
    if observed:
        omitted = ", …" if len(observed) > _MAX_OBSERVED_VALUES else ""
        values = ", ".join(f"'{value}'" for value in observed[:_MAX_OBSERVED_VALUES])
        return f"DNS has {values}{omitted} at {name}."
    types = " or ".join(dict.fromkeys(record["type"] for record in required))
    return f"DNS has no {types} record at {name}."
