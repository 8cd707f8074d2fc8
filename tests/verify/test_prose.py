"""What the text of a chapter says: links, bare numerals, and what a reader would lose."""

import pytest
from small_notebooks import code, notebook
from verify.prose import Link, of_markdown, of_notebook

TWO_DOLLARS = "The run costs [$74k](#bill), with a buffer [$85k](#buffered)."


def test_links_of_every_kind():
    found = of_markdown(
        "The run takes [11 days](#run_time); an H100 does [989 TFLOP/s](#h100.bf16_flops).\n\n"
        '# In [11 days](#a)\n\n> [*about* \\$75k](#b "within 2%")\n\n'
        "- [$6.35\\times10^{24}$ FLOPs](#c)\n\n"
        "| [half a minute](#d) |\n|---|\n| [1 &lt;](#e) |\n\n"
        "<details><summary>More</summary>\n\n[40%](#f)\n\n</details>\n\n"
        "[The chain](#the-chain) [x](other.md#y)"
    )
    assert found.links == [
        Link("11 days", "run_time"),
        Link("989 TFLOP/s", "h100.bf16_flops"),
        Link("11 days", "a"),
        Link("about $75k", "b", "within 2%"),
        Link("$6.35\\times10^{24}$ FLOPs", "c"),
        Link("half a minute", "d"),
        Link("1 <", "e"),
        Link("40%", "f"),
    ]
    assert not found.bare and not found.faults


def test_code_cells_are_no_prose():
    assert not of_notebook(notebook(code("days = 11"), "Nothing here.")).bare


@pytest.mark.parametrize(
    "text",
    [
        "It takes 11 days.",
        "sixteen thousand GPUs",
        "Twenty-four layers",
        "a hundred times",
        "two thirds of it",
        "１１ days",
        "½ of it",
        "10²⁴",
        "# The 11 days",
        "- 5 GPUs",
        "> in 9 days",
        "| a |\n|---|\n| 42 |",
        "| 42 |\n|---|\n| a |",
        "![a curve from 9 to 15 days](x.svg)",
        '![a](x.svg "after 9 days")',
        '<img src="x.svg" alt="9 days">',
        "<details><summary>After 11 days</summary>\n\nText.\n\n</details>",
        "<table><tr><td>42</td></tr></table>",
        "Inline <b>42</b> HTML",
        "[42 pages](https://example.org)",
        '[a](https://example.org "42 pages")',
        "[11 days](#the-chain)",
        "$T = 11$ days",
        "$\\eta = 0.4$",
        "$10^{24}$",
        "$T = 6.35\\times10^{24} / P$",
        "$$\nT = 86{,}400\n$$",
        "$x\\text{ of 42}$",
        "    11 days",
        "```\n11 days\n```",
        ":::{note} In 11 days\nText\n:::",
        "```{note}\nIn 11 days\n```",
        "[^1]: In 11 days.\n\nText[^1]",
        "in 2000 steps",
        "2048 GPUs of 2048",
        "TP8",
        "70B parameters",
        "15T tokens",
        "1979 TFLOP/s",
    ],
    ids=lambda text: text[:40],
)
def test_bare_numeral(text):
    assert of_markdown(text).bare, text


@pytest.mark.parametrize(
    "text",
    [
        "one to twelve stages, hundreds of GPUs, thousands of runs, half of it, a third party",
        "`16384` in code",
        "```python\nx = 11\n```",
        "an H100, two A100s, B200 and GB200, TPU v5p, v6e",
        "ZeRO-3 in bf16, fp8 or e4m3 with float32 sums",
        "Llama-3-70B, Llama 3 70B, Llama 3.1 405B, LLaMA-65B, GPT-3 175B",
        "Mixtral 8x7B, Qwen3-235B-A22B, a 70B, 7B models",
        "(2024), Dubey et al., 2024, in 2023, and May 2024, or 2026-08-01",
        "arXiv:2407.21783 and https://example.org/2407",
        "[Llama 3, Table 4](https://arxiv.org/abs/2407.21783)",
        "stages 1 and 2, chapter 14, Figure 3, step 4, ranks 0 to 7, part 2",
        "the 6ND rule, 3D parallelism, P50 and p99",
        "dollars per million tokens",
        "<!-- 42 -->",
        "| a | |\n|---|---|\n| | b |",
        "<p><code>42</code></p>",
        "1. first\n2. second",
        "$6ND$, $2(n-1)/n$, $x^2$, $(4 + 12/n)N$, $0 < x \\le 1$, $34\\,s\\,h$, $O(n^2)$",
        "$T=\\dfrac{6ND}{G\\,P\\,\\eta}$",
        "$$\nS_e = L B \\frac{e}{1-e}\n$$",
        "\\$ per hour",
    ],
    ids=lambda text: text[:40],
)
def test_what_may_stand_bare(text):
    found = of_markdown(text)
    assert not found.bare and not found.faults


def test_a_message_shows_the_numeral_in_its_place():
    assert of_markdown("And then the run takes 11 days to end.").bare == [
        "hen the run takes 11 days to end."
    ]


@pytest.mark.parametrize(
    "text",
    [
        TWO_DOLLARS,
        f"# {TWO_DOLLARS}",
        f"> {TWO_DOLLARS}",
        f"| a |\n|---|\n| {TWO_DOLLARS} |",
        f"- {TWO_DOLLARS}",
        "from $x to $y",
        "between $a–$5",
        "the bill in $",
        "[$75k](#bill)",
        "costs $the whole bill$ now",
    ],
)
def test_a_bare_dollar_is_an_error(text):
    assert "write \\$" in "\n".join(of_markdown(text).faults)


def test_an_escaped_dollar_keeps_both_links():
    found = of_markdown(TWO_DOLLARS.replace("$", "\\$"))
    assert [str(link) for link in found.links] == ["[$74k](#bill)", "[$85k](#buffered)"]
    assert not found.faults


@pytest.mark.parametrize(
    "text",
    [
        "[11 days](#run time)",
        "<details>\n<summary>x</summary>\n[a](#run_time)\n</details>",
    ],
)
def test_a_link_that_no_reader_sees_is_an_error(text):
    assert of_markdown(text).faults
