"""Request and response models of webhooks, their circuit breaker, and signatures by Standard Webhooks."""
