"""The audit log of an organization, and its exports."""
