"""Roles, scopes and grants, and how changes of them reach requests in flight."""
