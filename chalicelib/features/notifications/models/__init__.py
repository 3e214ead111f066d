"""Event types, and request and response models that webhooks and channels share."""
