"""The migrations, their history, and the runner that applies them."""
