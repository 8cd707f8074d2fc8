"""The faces of a formula, each read from its source by the same small grammar."""
