"""Descriptions of the errors that checks of a custom domain find."""

from collections.abc import Iterable, Mapping, Sequence
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
_ADVICE: Final[Mapping[str, str]] = {
    "TXT_NOT_FOUND": "Add one with the value {expected}.",
    "TXT_MISMATCH": "Add another TXT record with the value {expected}. Other values may stay.",
    "CNAME_MISMATCH": "Point it to {expected} with a CNAME record, and remove its other CNAME, A and AAAA records.",
    "APEX_NEEDS_A_OR_ALIAS": (
        "Point it to {expected} with {types} records, and remove its other A and AAAA records. An apex can have no"
        " CNAME record."
    ),
}
_MAX_OBSERVED_VALUES: Final = 3


def describe_domain_error(code: str, domain: str, records: Iterable[Mapping[str, Any]]) -> str:
    """Return what a check of a domain observed, what it expected, and what to do.

    `records`: the required DNS records with the observed values, in snake case.
    """
    if code in _DESCRIPTIONS_WITHOUT_RECORD:
        return _DESCRIPTIONS_WITHOUT_RECORD[code].format(domain=domain)
    purpose = "ownership" if code.startswith("TXT_") else "routing"
    required = [record for record in records if record["purpose"] == purpose]
    advice = _ADVICE[code].format(
        expected=" and ".join(record["expected"] for record in required),
        types=" and ".join(dict.fromkeys(record["type"] for record in required)),
    )
    return f"{_describe_observation(required)} {advice}"


def _describe_observation(required: Sequence[Mapping[str, Any]]) -> str:
    name = required[0]["name"]
    observed = [*dict.fromkeys(value for record in required for value in record["observed"])]
    if observed:
        omitted = ", …" if len(observed) > _MAX_OBSERVED_VALUES else ""
        values = ", ".join(f"'{value}'" for value in observed[:_MAX_OBSERVED_VALUES])
        return f"DNS has {values}{omitted} at {name}."
    types = " or ".join(dict.fromkeys(record["type"] for record in required))
    return f"DNS has no {types} record at {name}."
