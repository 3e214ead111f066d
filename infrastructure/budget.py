"""A monthly budget of the account, with notices before and when it is exceeded."""

from typing import Any, Final

from infrastructure.cfn import TEMPLATE_STAGE, ref, sub
from infrastructure.data_stores import Resources

NOTICE_PERCENTAGES: Final = (50, 80, 100)
"""Percentages of the budget. A notice is sent when the costs exceed each of them."""

_MONTH_END_PERCENTAGE: Final = 100
"""The share of the budget that the forecast for the end of the month may reach."""


def budget_resources(condition: str) -> Resources:
    """Return the budget, which exists on a condition. The parameter `MonthlyBudget` is its amount in US dollars."""
    limit = {"Amount": ref("MonthlyBudget"), "Unit": "USD"}
    properties = {
        "Budget": {
            "BudgetName": sub(TEMPLATE_STAGE.prefix),
            "BudgetType": "COST",
            "TimeUnit": "MONTHLY",
            "BudgetLimit": limit,
        },
        "NotificationsWithSubscribers": [
            *(_notice("ACTUAL", percentage) for percentage in NOTICE_PERCENTAGES),
            _notice("FORECASTED", _MONTH_END_PERCENTAGE),
        ],
    }
    # AWS Budgets checks the topic's policy when it creates the budget.
    return {
        "Budget": {
            "Type": "AWS::Budgets::Budget",
            "Condition": condition,
            "DependsOn": "NoticesPolicy",
            "Properties": properties,
        }
    }


def _notice(kind: str, percentage: int) -> dict[str, Any]:
    return {
        "Notification": {
            "NotificationType": kind,
            "ComparisonOperator": "GREATER_THAN",
            "Threshold": percentage,
            "ThresholdType": "PERCENTAGE",
        },
        "Subscribers": [{"SubscriptionType": "SNS", "Address": ref("Notices")}],
    }
