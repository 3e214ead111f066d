"""Suppressions of e-mail addresses that receive no more invitations."""
