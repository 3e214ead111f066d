"""Suppressions of e-mail addresses that receive no more mails about invitations and memberships."""
