"""Descriptions of the errors that checks of a custom domain find."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

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
    "APEX_NEEDS_A_OR_ALIAS": "Point it to {expected} with {types} records. An apex can have no CNAME record.",
}
"""What to do if DNS has no record at the name."""
_ADVICE: Final[Mapping[str, str]] = {
    "TXT_MISMATCH": "Add another TXT record with the value {expected}. Other values may stay.",
    "CNAME_MISMATCH": "Point it to {expected} with a CNAME record, and remove its other CNAME, A and AAAA records.",
    "APEX_NEEDS_A_OR_ALIAS": (
        "Point it to {expected} with {types} records, and remove its other A and AAAA records. An apex can have no"
        " CNAME record."
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
    return " ".join([_describe_observation(required), advice, *_describe_missing_routing(missing_routing)])


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


def _describe_observation(required: Sequence[Mapping[str, Any]]) -> str:
    name = required[0]["name"]
    observed = [*dict.fromkeys(value for record in required for value in record["observed"])]
    if observed:
        omitted = ", …" if len(observed) > _MAX_OBSERVED_VALUES else ""
        values = ", ".join(f"'{value}'" for value in observed[:_MAX_OBSERVED_VALUES])
        return f"DNS has {values}{omitted} at {name}."
    types = " or ".join(dict.fromkeys(record["type"] for record in required))
    return f"DNS has no {types} record at {name}."
