"""Commands for developers and operators."""
