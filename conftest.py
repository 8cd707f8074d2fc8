"""Loads the plugin that checks the numbers of the text; pytest allows that only here."""

pytest_plugins = ["verify.plugin"]
