"""How the promise is kept: numbers of the text, rules for cells, the pytest plugin, mutants."""
