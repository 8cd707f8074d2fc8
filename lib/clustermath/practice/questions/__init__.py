"""One module a chapter, each with its list `QUESTIONS`."""
