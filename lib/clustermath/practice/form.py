"""A question as the page needs it: plain data for the widget, HTML for pages without scripts."""
from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

from .drawn import Drawn, draw
from .notes import Mathematics
from .spec import Estimate, Implement, Question, Rubric

REDRAWS = (1, 2, 3)  # seeds that the button for new numbers goes through


def specification(question: Question, seed: int | None) -> dict[str, Any]:
    """Data of the form. All that a learner asks for later is sealed, against a glance only."""
    seeds = [seed, *(s for s in REDRAWS if s != seed)] if question.givens else [seed]
    spec: dict[str, Any] = {"id": question.id, "kind": type(question).__name__.lower()}
    if isinstance(question, Implement):
        spec["stub"] = question.stub.strip()
    if isinstance(question, Rubric):
        spec["least"] = question.least
    return spec | {"sealed": seal([_data(draw(question, s)) for s in seeds])}


def seal(data: Any) -> str:
    """JSON in base64."""
    return base64.b64encode(json.dumps(data, ensure_ascii=False).encode()).decode()


def _data(drawn: Drawn) -> dict[str, Any]:
    """One draw as plain data."""
    q = drawn.question
    made: dict[str, Any] = {"ask": drawn.ask, "hints": drawn.hints, "next": drawn.next,
                            "solution": [_block(p) for p in drawn.solution]}
    if isinstance(q, Estimate):
        made["key"] = drawn.key
    if isinstance(q, Rubric):
        made["points"] = [[weight, drawn.fill(says)] for weight, says in q.points]
    return made


def _block(paragraph: str | Mathematics) -> dict[str, str]:
    if isinstance(paragraph, Mathematics):
        return {"latex": paragraph.latex, "text": paragraph.text}
    if paragraph.startswith("```"):
        return {"code": paragraph.removeprefix("```python").strip("`\n")}
    return {"text": paragraph}


def text(drawn: Drawn) -> str:
    """The question in plain text."""
    q = drawn.question
    task = f"Question {q.id}: {drawn.ask}"
    if isinstance(q, Implement):
        return f"{task}\n\n{q.stub.strip()}\n\nThen check(\"{q.id}\", your_function)."
    if isinstance(q, Rubric):
        return f"{task}\nThen check(\"{q.id}\", \"your answer in a few sentences\")."
    return f"{task} Answer in {q.unit or 'a plain number'}: check(\"{q.id}\", \"...\")."


def static_html(drawn: Drawn) -> str:
    """The question with hints and solution folded, for viewers without scripts.

    Digits of what is folded are written as entities, so that a search of the file finds no answer.
    """
    q = drawn.question
    parts = [f"<p>{markup(drawn.ask)}</p>"]
    if isinstance(q, Implement):
        parts.append(f"<pre><code>{html.escape(q.stub.strip())}</code></pre>")
    of = len(drawn.hints)
    parts += [_folded(f"Hint {i} of {of}", [hint]) for i, hint in enumerate(drawn.hints, 1)]
    *worked, then = drawn.solution
    if isinstance(q, Rubric):
        worked += [f"{weight}: {drawn.fill(says)}" for weight, says in q.points]
    parts.append(_folded("Worked solution", [*worked, then]))
    return f'<div class="cm-static" data-question="{q.id}">\n' + "\n".join(parts) + "\n</div>"


def _folded(title: str, paragraphs: list[str | Mathematics]) -> str:
    body = "".join(_paragraph(p) for p in paragraphs)
    return f"<details><summary>{title}</summary>{_veiled(body)}</details>"


def _paragraph(paragraph: str | Mathematics) -> str:
    block = _block(paragraph)
    if "code" in block or "latex" in block:
        return f"<pre><code>{html.escape(block.get('code', block.get('text', '')))}</code></pre>"
    return f"<p>{markup(block['text'])}</p>"


def _veiled(body: str) -> str:
    """Digits of the text, not of tags or entities, as entities."""
    parts = re.split(r"(<[^>]*>|&[^;]+;)", body)
    return "".join(p if p[:1] in "<&" else re.sub(r"\d", _entity, p) for p in parts)


def _entity(digit: re.Match[str]) -> str:
    return f"&#{ord(digit[0])};"


def markup(text: str) -> str:
    """Escaped text with `code` spans; a dollar stands alone, or front ends see mathematics."""
    out = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return out.replace("$", "<span>$</span>")
