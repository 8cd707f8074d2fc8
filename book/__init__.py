"""How the book is made: notebooks from chapters, and pages from notebooks."""
