"""Request and response models of webhooks, and signatures by Standard Webhooks."""
