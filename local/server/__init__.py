"""The local stage: emulators, the HTTP server and what connects them."""
