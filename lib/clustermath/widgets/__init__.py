"""Explorers and question forms: widgets that compute in the page, without kernel or network."""
