"""Tables and givens: what they show, in HTML and as text, and what they refuse."""
from __future__ import annotations

import pytest
from clustermath import Count, Params, Seconds, Share, Table, chips, given, givens, references
from clustermath.value import Value, Whole


def test_a_number_is_printed_with_its_unit_and_stands_right():
    table = Table([("peak", chips["H100 SXM"].bf16_flops), ("memory", chips["H100 SXM"].hbm)], ("what", "how much"))
    assert repr(table).splitlines() == ["what       how much", "peak    989 TFLOP/s", "memory        80 GB"]
    assert '<td class="number">989 TFLOP/s</td>' in table._repr_html_()


@pytest.mark.parametrize("cell", ["1.5×", "−3%", "$73,730", "15 trillion tokens", "6.354e24 FLOP", "+1.00"])
def test_figures_stand_right(cell):
    assert 'class="number"' in Table([(cell,)], ("x",))._repr_html_()


@pytest.mark.parametrize("cell", ["H100 SXM", "arXiv:1910.02054", "yes"])
def test_words_stand_left(cell):
    assert 'class="number"' not in Table([(cell,)], ("x",))._repr_html_()


def test_markup_is_escaped_and_links_may_hold_brackets():
    html = Table([("a < b & `c<d>`", "[[RFC] plan](https://example.org/a)")], ("x", "y"))._repr_html_()
    assert "a &lt; b &amp; <code>c&lt;d&gt;</code>" in html
    assert '<a href="https://example.org/a">[RFC] plan</a>' in html
    assert "javascript" not in Table([("[x](javascript:alert(1))",)], ("x",))._repr_html_().replace("[x](javascript:alert(1))", "")


def test_a_ragged_row_is_refused():
    with pytest.raises(ValueError, match="2 cells under 1 heads"):
        Table([("a", "b")], ("x",))


def test_references_come_from_the_registry():
    assert "arXiv:1910.02054" in repr(references("zero-2019"))
    with pytest.raises(KeyError, match="no source named"):
        references("no-such-source")


def test_a_given_keeps_its_source_and_its_kind():
    count = given(16_384, Count, "GPUs", assumption="a fleet")
    peak = given(chips["H100 SXM"].bf16_flops, chips_type(), "peak")
    assert isinstance(count, Whole) and isinstance(peak, Value)
    assert (count.source, count.note) == ("", "a fleet")
    assert peak.source == chips["H100 SXM"].bf16_flops.source


def chips_type():
    from clustermath import FlopRate

    return FlopRate


@pytest.mark.parametrize(
    ("value", "kind", "about", "says"),
    [
        (40, Share, {"assumption": "x"}, "write 40% as 0.4"),
        (float("nan"), Seconds, {"assumption": "x"}, "got nan"),
        (1e9, Params, {}, "needs a source or an assumption"),
        (1e9, Params, {"source": "no-such-source"}, "no source named"),
    ],
)
def test_a_poor_given_is_refused(value, kind, about, says):
    with pytest.raises((ValueError, KeyError), match=says):
        given(value, kind, "something", **about)


def test_the_table_of_givens_lists_givens_alone_in_order():
    namespace = {"b": given(2, Count, "second", assumption="why"), "plain": 3.0,
                 "a": given(0.5, Share, "first", source="zero-2019"), "_hidden": given(1, Count, "no", assumption="x")}
    assert repr(givens(namespace)).splitlines()[1:] == ["b     second       2  assumption: why", "a     first      50%  ZeRO paper"]
