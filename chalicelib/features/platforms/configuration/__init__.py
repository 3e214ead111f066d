"""Platform configuration: everything a front end needs to start, in one document."""
