"""`docs/permissions.md`, which is generated, states the rules that the service applies."""

import re

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from local.paths import ROOT

ROWS = dict(
    re.findall(r"^\| `(\w+)` \| `[A-Z]+ /\S*` \| (.+) \|$", (ROOT / "docs/permissions.md").read_text(), re.MULTILINE)
)


def test_every_operation_has_one_row():
    assert list(ROWS) == [operation.id for operation in all_operations()]


@pytest.mark.parametrize(
    ("operation", "row"),
    [
        ("get_status", "everybody | not needed"),
        ("create_organization", "every user | refused"),
        ("get_me", "every user, for what they can see | no scope needed"),
        ("accept_invitation", "everybody, as its description states | refused"),
        ("list_marketing_leads", "operators | refused"),
        ("get_organization", "`member` of the organization | `read`, `organizations:read`"),
        ("create_site", "`editor` of the organization | `write`, `sites:write`"),
        ("create_webhook", "`admin` of the organization | `webhooks:write`"),
        ("transfer_ownership", "`owner` of the organization | refused"),
        ("start_reconciliation", "`owner` of the organization; operators in every organization | refused"),
        ("delete_space", "`admin` of the platform | `spaces:write`"),
        ("get_invitation", "`admin` of the organization, or of the platform that it concerns | `members:read`"),
        (
            "get_platform_config",
            "everybody once it is published, before that `member` of the platform | `read`, `platforms:read`",
        ),
    ],
)
def test_a_row_states_the_lowest_role_and_the_sufficient_scopes(operation, row):
    assert ROWS[operation] == row


@pytest.mark.parametrize(
    "row",
    [
        "| `admin` | `member`, `editor`, `admin` |",
        "| `editor` | `member`, or that of their membership there | none, or that of their membership there |",
        "| `owner` | `admin` | `admin` |",
        "| `admin` | every scope | `admin` |",
    ],
)
def test_the_page_states_what_a_role_or_scope_includes(row):
    assert row in (ROOT / "docs/permissions.md").read_text()
