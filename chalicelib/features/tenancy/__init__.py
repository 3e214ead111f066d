"""Organizations, the tenants to which all other resources belong, with their members and credentials."""
