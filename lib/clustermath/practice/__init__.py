"""Exercises: one specification a question; forms in the page, `check` in Python, tests of both."""
from .engine import ask, check, hint, solution

__all__ = ["ask", "check", "hint", "solution"]
