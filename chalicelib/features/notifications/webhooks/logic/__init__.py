"""The backlog, the secrets, the requests and the final outcomes of webhooks."""
