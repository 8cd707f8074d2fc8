"""What chips and links obey, whoever prints them; and that tampering with a figure breaks it."""

from __future__ import annotations

from itertools import chain

import pytest
from registry_data import change, entries, note, number, numbers

PEAKS = ("bf16_flops", "fp16_flops", "fp8_flops", "int8_ops")
NO_FASTER = "no faster"
# Newer part, older part, column, and the bounds of their ratio as the vendors advertise it.
GENERATIONS = [
    ("TPU v4", "TPU v3", "bf16_flops", 2.1, 2.4),
    ("TPU v5p", "TPU v4", "bf16_flops", 1.6, 1.75),
    ("TPU v6e", "TPU v5e", "bf16_flops", 4.6, 4.75),
    ("TPU v7", "TPU v6e", "bf16_flops", 2.4, 2.6),
    ("H100 SXM", "A100 80GB", "bf16_flops", 3.1, 3.25),
    ("A100 40GB", "A100 80GB", "bf16_flops", 1, 1),
    ("H200", "H100 SXM", "bf16_flops", 1, 1),
    ("H800", "H100 SXM", "bf16_flops", 1, 1),
    ("B200", "H100 SXM", "bf16_flops", 2.2, 2.4),
    ("GB200 NVL72", "B200", "bf16_flops", 1.05, 1.15),
    ("GB300 NVL72", "GB200 NVL72", "bf16_flops", 1, 1),
    ("H100 SXM", "H100 PCIe", "bf16_flops", 1.25, 1.4),
    ("H100 SXM", "H100 PCIe", "hbm_bandwidth", 1.5, 1.8),
    ("H200", "H100 SXM", "hbm_bandwidth", 1.4, 1.46),
    ("TPU v6e", "TPU v5e", "hbm_bandwidth", 1.9, 2.1),
    ("TPU v7", "TPU v6e", "hbm_bandwidth", 4.4, 4.6),
    ("A100 80GB", "A100 40GB", "hbm_bandwidth", 1.25, 1.4),
    ("A100 80GB", "V100", "hbm_bandwidth", 2.1, 2.4),
    ("H800", "H100 SXM", "hbm_bandwidth", 1, 1),
    ("GB200 NVL72", "B200", "hbm_bandwidth", 1, 1),
    ("B200", "H200", "hbm_bandwidth", 1.6, 1.7),
    ("TPU v5p", "TPU v4", "hbm_bandwidth", 2.2, 2.4),
    ("A100 80GB", "A100 40GB", "hbm", 2, 2),
    ("H20", "H100 SXM", "hbm", 1.2, 1.2),
    ("GB200 NVL72", "B200", "hbm", 1, 1.07),
    ("H200", "H100 SXM", "hbm", 1.7, 1.8),
    ("H100 PCIe", "H100 SXM", "hbm", 1, 1),
    ("H800", "H100 SXM", "hbm", 1, 1),
    ("TPU v6e", "TPU v5e", "hbm", 2, 2),
    ("A100 80GB", "V100", "hbm", 2.5, 2.5),
    ("B200", "H200", "hbm", 1.25, 1.3),
    ("TPU v7", "TPU v5p", "hbm", 2, 2.05),
    ("TPU v5p", "TPU v4", "hbm", 2.9, 3),
    ("H800", "H100 SXM", "link_bandwidth", 0.44, 0.45),
    ("H100 SXM", "H200", "network_bandwidth", 1, 1),
    ("TPU v6e", "TPU v5p", "network_bandwidth", 2, 2),
    ("TPU v7", "TPU v6e", "network_bandwidth", 1, 1),
    ("H100 SXM", "A100 80GB", "power", 1.75, 1.75),
    ("H100 SXM", "H200", "power", 1, 1),
    ("H100 SXM", "H100 PCIe", "power", 2, 2),
    ("A100 40GB", "A100 80GB", "power", 1, 1),
    ("TPU v6e", "TPU v5e", "tile", 2, 2),
    ("TPU v7", "TPU v6e", "tile", 1, 1),
    ("TPU v5p", "TPU v5e", "tile", 1, 1),
    ("TPU v4", "TPU v5p", "tile", 1, 1),
]


def near(got: float, wanted: float, within: float = 5e-3) -> bool:
    return abs(got / wanted - 1) <= within


def dense(chips):
    """Peaks say that they are dense, and sparse ones are twice as high."""
    for name, chip in chips.items():
        for key in PEAKS:
            if key in chip and not note(chip[key]).startswith("dense"):
                yield f"{name}: {key} does not say dense"
        for key in ("bf16", "fp8"):
            if f"{key}_sparse" in chip and not near(
                number(chip[f"{key}_sparse"]), 2 * number(chip[f"{key}_flops"])
            ):
                yield f"{name}: {key}_sparse is not twice the dense peak"


def precisions(chips):
    """Half the bits, twice the rate, unless the note says no faster."""
    for name, chip in chips.items():
        for key in ("fp8_flops", "int8_ops"):
            if key in chip:
                ratio = 1 if NO_FASTER in note(chip[key]) else 2
                if not near(number(chip[key]), ratio * number(chip["bf16_flops"])):
                    yield f"{name}: {key} is not {ratio} x bf16"


def roofs(chips):
    """Ridge points, the time to read the memory once, and what a good kernel reaches."""
    for name, cells in chips.items():
        chip = numbers(cells)
        peak = chip.get("bf16_flops", chip.get("fp16_flops"))
        if "hbm_bandwidth" in chip:
            if not 100 <= peak / chip["hbm_bandwidth"] <= 700:
                yield f"{name}: ridge point {peak / chip['hbm_bandwidth']:.0f}"
            read = chip["hbm"] / chip["hbm_bandwidth"]
            if not 0.8e12 <= chip["hbm_bandwidth"] <= 8e12 or not 0.015 <= read <= 0.045:
                yield f"{name}: memory bandwidth"
        for part, whole in (
            ("achievable_flops", peak),
            ("achievable_fp8", chip.get("fp8_flops")),
            ("achievable_hbm_bandwidth", chip.get("hbm_bandwidth")),
        ):
            if part in chip and not 0.6 <= chip[part] / whole <= 0.95:
                yield f"{name}: {part}"
        if "visible_hbm" in chip and not 1 <= chip["visible_hbm"] / chip["hbm"] <= 2**30 / 1e9:
            yield f"{name}: visible_hbm"
        if "clock" in chip and not near(
            2 * chip["tensor_cores"] * chip["fma_per_clock"] * chip["clock"], peak
        ):
            yield f"{name}: peak is not cores x clock"
        if "processors" in chip and chip["tensor_cores"] != 4 * chip["processors"]:
            yield f"{name}: four tensor cores a processor"


def domains(chips):
    """Links of a torus, and what a whole domain adds up to."""
    for name, cells in chips.items():
        chip = numbers(cells)
        if (
            "axis_bandwidth" in chip
            and chip["link_bandwidth"] != chip["axes"] * chip["axis_bandwidth"]
        ):
            yield f"{name}: link_bandwidth is not axes x axis_bandwidth"
        for total, part in (
            ("domain_bf16", "bf16_flops"),
            ("domain_fp8", "fp8_flops"),
            ("domain_hbm", "hbm"),
            ("domain_all_reduce", "link_bandwidth"),
        ):
            slack = 0.08 if total == "domain_hbm" else 5e-3  # GiB summed as GB
            if total in chip and not near(chip[total], chip["domain"] * chip[part], slack):
                yield f"{name}: {total}"
        if "bisection" in chip:  # a square torus: both wrapped halves of every row
            side = chip["domain"] ** 0.5
            if not near(chip["bisection"], 2 * side * chip["axis_bandwidth"] / 2):
                yield f"{name}: bisection"
        if cells["per"].startswith("GPU") and chip.get("domain", 8) not in (8, 72):
            yield f"{name}: domain"


def packages(chips):
    """Per what: a package of two dies says so."""
    for name, chip in chips.items():
        if not chip["per"].startswith(("GPU", "chip")):
            yield f"{name}: per {chip['per']}"
        if ("two dies" in chip["per"]) != (number(chip.get("dies", 1)) == 2):
            yield f"{name}: dies"


def generations(chips):
    for new, old, key, low, high in GENERATIONS:
        ratio = number(chips[new][key]) / number(chips[old].get(key, chips[old].get("fp16_flops")))
        if not low * 0.995 <= ratio <= high * 1.005:
            yield f"{new} over {old}: {key} {ratio:.3g}"
    ratio = number(chips["A100 80GB"]["bf16_flops"]) / number(chips["V100"]["fp16_flops"])
    if not 2.4 <= ratio <= 2.6:
        yield f"A100 over V100: {ratio:.3g}"


def wired(chips):
    """A chip's links are those of the links registry."""
    links = entries("links")
    wires = {
        "V100": "NVLink 2",
        "A100 80GB": "NVLink 3",
        "A100 40GB": "NVLink 3",
        "H100 SXM": "NVLink 4",
        "H200": "NVLink 4",
        "H800": "NVLink 4 of an H800",
        "B200": "NVLink 5",
        "GB200 NVL72": "NVLink 5",
        "GB300 NVL72": "NVLink 5",
        "TPU v5e": "ICI v5e",
        "TPU v5p": "ICI v5p",
        "TPU v6e": "ICI v6e",
        "TPU v7": "ICI v7",
    }
    for name, wire in wires.items():
        if number(chips[name]["link_bandwidth"]) != number(links[wire]["bandwidth"]):
            yield f"{name}: not the bandwidth of {wire}"
        if "axes" in chips[name] and number(chips[name]["axes"]) != number(links[wire]["axes"]):
            yield f"{name}: axes"


CHECKS = (dense, precisions, roofs, domains, packages, generations, wired)


def complaints(chips) -> list[str]:
    return list(chain.from_iterable(check(chips) for check in CHECKS))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_chips_obey(check):
    assert not list(check(entries("chips")))


# A pod's size and a torus's axes without a published sum have no second witness.
ALONE = {("TPU v4", "domain"), ("TPU v4", "axes"), ("TPU v5p", "domain")}
FIGURES = [
    (name, key)
    for name, chip in entries("chips").items()
    for key in numbers(chip)
    if (name, key) not in ALONE
]


@pytest.mark.parametrize("factor", [2, 0.5])
@pytest.mark.parametrize("name, key", FIGURES)
def test_a_doubled_or_halved_figure_is_noticed(name, key, factor):
    chips = entries("chips")
    change(chips[name], key, factor)
    assert complaints(chips)


def test_sxm_and_pcie_swapped_is_noticed():
    chips = entries("chips")
    sxm, pcie = chips["H100 SXM"], chips["H100 PCIe"]
    for key in ("bf16_flops", "bf16_sparse", "fp8_flops", "fp8_sparse", "hbm_bandwidth"):
        sxm[key], pcie[key] = pcie[key], sxm[key]
    assert complaints(chips)


@pytest.mark.parametrize("name", [n for n, chip in entries("chips").items() if "dies" in chip])
def test_one_die_of_two_is_noticed(name):
    chips = entries("chips")
    for key in PEAKS + ("bf16_sparse", "fp8_sparse"):
        if key in chips[name]:
            change(chips[name], key, 0.5)
    assert complaints(chips)


@pytest.mark.parametrize("name, key", [f for f in FIGURES if f[1] in PEAKS])
def test_a_peak_that_no_longer_says_dense_is_noticed(name, key):
    chips = entries("chips")
    chips[name][key]["note"] = chips[name][key]["note"].removeprefix("dense")
    assert complaints(chips)


# ---- links ----


def test_both_directions_are_twice_one():
    for name, cells in entries("links").items():
        link = numbers(cells)
        if "summed" in link:
            assert link["summed"] == 2 * link["bandwidth"], name
        if "link_bandwidth" in link and "bandwidth" in link:
            assert link["bandwidth"] == pytest.approx(link["links"] * link["link_bandwidth"]), name
        if "axis_bandwidth" in link:
            assert link["bandwidth"] == link["axes"] * link["axis_bandwidth"], name
            assert link["axis_bandwidth"] == 2 * link["link_bandwidth"], name
            assert link["axis_planning"] == pytest.approx(0.9 * link["axis_bandwidth"]), name
        if "host_to_device" in link:
            line = link["lanes"] * link["lane_transfers"] * 128 / 130 / 8
            assert line == pytest.approx(link["bandwidth"], rel=1e-3)
            assert 0.8 < link["device_to_host"] / line < link["host_to_device"] / line < 1


def test_each_generation_of_links_is_faster():
    links = entries("links")
    for series in (
        ("NVLink 2", "NVLink 3", "NVLink 4", "NVLink 5"),
        ("PCIe 4 x16", "PCIe 5 x16"),
        ("NIC 25G", "NIC 100G", "NIC 200G", "NIC 400G", "NIC 800G"),
    ):
        speeds = [number(links[name]["bandwidth"]) for name in series]
        assert all(1.4 < b / a < 4.1 for a, b in zip(speeds, speeds[1:])), series


def test_bus_bandwidth_is_algorithm_bandwidth_times_the_ring_factor():
    found = 0
    for name, cells in entries("links").items():
        link = numbers(cells)
        bus = link.get("busbw", link.get("nvls_busbw", link.get("ring_busbw")))
        ratio = 2 * (link["ranks"] - 1) / link["ranks"] if "ranks" in link else 0
        if bus and "algbw" in link:
            assert bus == pytest.approx(ratio * link["algbw"], rel=4e-3), name
            found += 1
        if bus and "time" in link:
            assert bus == pytest.approx(
                ratio * link["size"] / link["time"], rel=0.06 if "B200" in name else 4e-3
            ), name
            found += 1
        if "dispatch" in link and "time" in link:
            sent = link["tokens"] * link["copies"] * link["token_bytes"]
            assert link["dispatch"] == pytest.approx(sent / link["time"], rel=6e-3), name
            found += 1
    assert found == 8


def test_no_ring_is_faster_than_its_wire():
    wires = {
        "A100": 300e9,
        "H100": 450e9,
        "H200": 450e9,
        "B200": 900e9,
        "GB200": 900e9,
        "NVL72": 900e9,
    }
    for name, cells in entries("links").items():
        ring = numbers(cells).get("ring_busbw")
        wire = next((w for chip, w in wires.items() if chip in name), None)
        if ring:
            assert 0.7 < ring / wire < 0.9, name
