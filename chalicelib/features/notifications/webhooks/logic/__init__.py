"""The circuit breaker, the secrets and the final outcomes of webhooks."""
