"""How an operation is declared: its route, its access rule and what it returns."""
