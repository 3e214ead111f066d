"""Roles, scopes and grants, and how a change of them reaches requests in flight."""
