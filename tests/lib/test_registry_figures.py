"""Models, runs, checkpoints, failures: published figures agree with each other and with counts."""

from __future__ import annotations

import math

import pytest
from registry_data import change, entries, note, number, numbers

from clustermath import models

# ---- parameters ----


def rounding(value: float, digits: float) -> float:
    """Half a unit in the last of so many figures of a value."""
    return 0.5 * 10 ** (math.floor(math.log10(value)) + 1 - digits)


@pytest.mark.parametrize("name", list(entries("models")))
def test_dense_counts_are_as_published(name):
    shape = numbers(entries("models")[name])
    counted = models[name].params + shape.get("extra", 0)
    if shape["published_digits"] >= 9:
        assert counted == shape["published"]
    else:
        slack = rounding(shape["published"], shape["published_digits"])
        assert counted == pytest.approx(shape["published"], abs=slack)


@pytest.mark.parametrize("name", list(entries("models")))
@pytest.mark.parametrize("key", ["layers", "hidden", "ffn"])
def test_a_spoiled_shape_is_noticed(name, key):
    table = entries("models")[name]
    change(table, key, 2)
    spoiled = type(models[name])(
        "models", name, {k: {"unit": "", "meaning": k} for k in table}, table
    )
    shape = numbers(table)
    slack = rounding(shape["published"], shape["published_digits"])
    assert spoiled.params + shape.get("extra", 0) != pytest.approx(shape["published"], abs=slack)


def expert_counts(shape: dict[str, float], attention: float) -> tuple[float, float]:
    """All and active parameters, layer by layer."""
    h, expert = shape["hidden"], 3 * shape["hidden"] * shape["expert_ffn"]
    sparse = shape["layers"] - shape["dense_layers"]
    common = shape["layers"] * (attention + 2 * h) + h + 2 * shape["vocab"] * h
    common += shape["dense_layers"] * 3 * h * shape.get("dense_ffn", 0)
    common += sparse * (shape["experts"] * h + shape["shared"] * expert)
    return common + sparse * shape["experts"] * expert, common + sparse * shape["top_k"] * expert


def grouped_attention(shape: dict[str, float]) -> float:
    return 2 * shape["hidden"] * shape["head_dim"] * (shape["heads"] + shape["kv_heads"])


def latent_attention(shape: dict[str, float]) -> float:
    h, a, q, kv = shape["hidden"], shape["heads"], shape["query_rank"], shape["kv_rank"]
    queries = h * q + q + q * a * (shape["nope_dim"] + shape["rope_dim"])
    keys = h * (kv + shape["rope_dim"]) + kv + kv * a * (shape["nope_dim"] + shape["value_dim"])
    return queries + keys + a * shape["value_dim"] * h


@pytest.mark.parametrize("name", list(entries("moe")))
def test_expert_counts_are_as_published(name):
    table = entries("moe")[name]
    shape = numbers(table)
    attention = latent_attention(shape) if "query_rank" in shape else grouped_attention(shape)
    attention += 2 * shape["head_dim"] if table.get("qk_norm") else 0
    total, active = expert_counts(shape, attention)
    if shape["published_digits"] >= 9:
        assert total == shape["published"]
    assert total == pytest.approx(
        shape["published"], abs=rounding(shape["published"], shape["published_digits"])
    )
    # Publishers count the input table among the active parameters, or do not.
    looked_up = shape["vocab"] * shape["hidden"]
    slack = rounding(shape["published_active"], shape["published_active_digits"])
    assert any(
        abs(count - shape["published_active"]) <= slack for count in (active, active - looked_up)
    )


def test_the_cache_of_latent_attention():
    shape = numbers(entries("moe")["DeepSeek-V3"])
    assert shape["cache_per_token"] == 2 * shape["layers"] * (shape["kv_rank"] + shape["rope_dim"])


# ---- runs ----

CHIPS = {name: numbers(chip) for name, chip in entries("chips").items()}
RUNS = entries("runs")


def quotients(run: dict[str, float]):
    """Pairs that should be equal, with the tolerance that their rounding asks for."""
    if {"chips", "time", "chip_time"} <= set(run):
        yield "chips x time = chip_time", run["chips"] * run["time"], run["chip_time"], 0.02
    if {"tokens", "token_rate", "time"} <= set(run):
        yield "tokens / token_rate = time", run["tokens"] / run["token_rate"], run["time"], 0.02
    if {"tokens", "chip_token_rate", "chips", "time"} <= set(run):
        yield "tokens / rate of the chips = time", run["tokens"] / run["chip_token_rate"] / run[
            "chips"
        ], run["time"], 0.02
    if {"chip_token_rate", "chips", "token_rate"} <= set(run):
        yield "chips x chip_token_rate = token_rate", run["chips"] * run["chip_token_rate"], run[
            "token_rate"
        ], 2e-3
    if {"sequences", "context", "batch"} <= set(run):
        yield "sequences x context = batch", run["sequences"] * run["context"], run["batch"], 0
    if {"batch", "step", "token_rate"} <= set(run):
        yield "batch / step = token_rate", run["batch"] / run["step"], run["token_rate"], 2e-3
    if {"batch", "step", "chip_token_rate"} <= set(run):
        yield "batch / step = rate of the chips", run["batch"] / run["step"] / run["chips"], run[
            "chip_token_rate"
        ], 2e-3
    if {"factor", "rate", "time"} <= set(run):
        work = run["factor"] * run["params"] * run["tokens"]
        yield "factor x N x D / (chips x rate) = time", work / run["chips"] / run["rate"], run[
            "time"
        ], 0.031
    if {"cost", "price", "chip_time"} <= set(run):
        yield "chip_time x price = cost", run["chip_time"] * run["price"], run["cost"], 1e-3
    if {"tensor_parallel", "pipeline_parallel", "data_parallel", "chips"} <= set(run):
        layout = run["tensor_parallel"] * run["pipeline_parallel"] * run["data_parallel"]
        yield "TP x PP x DP = chips", layout, run["chips"], 0
    if {"pods", "pod_chips", "chips"} <= set(run):
        yield "pods x pod_chips = chips", run["pods"] * run["pod_chips"], run["chips"], 0


@pytest.mark.parametrize("name", list(RUNS))
def test_figures_of_a_run_agree(name):
    for what, got, wanted, within in quotients(numbers(RUNS[name])):
        assert got == pytest.approx(wanted, rel=within or 1e-12), what


def test_runs_are_crossed_often_enough():
    assert sum(1 for run in RUNS.values() for _ in quotients(numbers(run))) > 50


@pytest.mark.parametrize("name", list(RUNS))
def test_chips_of_a_run_are_known(name):
    assert RUNS[name].get("chip", "H100 SXM") in CHIPS
    assert RUNS[name].get("attention", "none") in ("none", "causal", "full")
    assert RUNS[name].get("precision", "bf16") in ("bf16", "fp8")


def peak(table: dict) -> float:
    chip = CHIPS[table["chip"]]
    return (
        chip["fp8_flops"]
        if table.get("precision") == "fp8"
        else chip.get("bf16_flops", chip.get("fp16_flops"))
    )


@pytest.mark.parametrize("name", [n for n, t in RUNS.items() if "chip" in t])
def test_rates_stay_below_the_peak(name):
    table, run = RUNS[name], numbers(RUNS[name])
    if "rate" in run:
        assert 0.1 < run["rate"] / peak(table) < 0.75
        if "mfu" in run:
            assert run["rate"] / peak(table) == pytest.approx(run["mfu"], abs=0.006)
    if "hfu" in run:
        assert 1 <= run["hfu"] / run["mfu"] <= 4 / 3 + 1e-3


@pytest.mark.parametrize(
    "name", [n for n, t in RUNS.items() if {"rate", "chip_token_rate", "context"} <= set(t)]
)
def test_flops_per_token_lie_between_weights_and_full_attention(name):
    run = numbers(RUNS[name])
    work = run["rate"] / run["chip_token_rate"] / run.get("active", run["params"])
    assert 5.6 < work < (14 if run["context"] > 100_000 else 7.8)


@pytest.mark.parametrize(
    "name", [n for n, t in RUNS.items() if {"params", "tokens", "chip_time", "chip"} <= set(t)]
)
def test_implied_utilization_is_one_that_machines_reach(name):
    run, chip = numbers(RUNS[name]), CHIPS[RUNS[name]["chip"]]
    work = 6 * run.get("active", run["params"]) * run["tokens"]
    assert 0.12 < work / run["chip_time"] / chip["bf16_flops"] < 0.55


@pytest.mark.parametrize(
    "name", [n for n, t in RUNS.items() if {"params", "tokens", "flops"} <= set(t)]
)
def test_published_flops_are_six_n_d(name):
    run = numbers(RUNS[name])
    factor = 8 if "recomputation" in note(RUNS[name]["flops"]) else 6
    assert factor * run["params"] * run["tokens"] == pytest.approx(run["flops"], rel=0.025)


@pytest.mark.parametrize(
    "name",
    [
        "MPT-70B on 512 H100",
        "MPT-70B on 64 H100",
        "MPT-70B on 64 A100",
        "MPT-13B on 8 A100",
        "MPT-7B on 8 H100",
    ],
)
def test_mpt_utilization_by_their_own_formula(name):
    """6N + 12Lhs a token: the benchmark's README."""
    run, model = numbers(RUNS[name]), models[name.split()[0]]
    per_token = 6 * run["params"] + 12 * model.layers * model.hidden * run["context"]
    assert per_token * run["token_rate"] / run["chips"] / peak(RUNS[name]) == pytest.approx(
        run["mfu"], abs=5e-4
    )


CROSSED = [
    (name, key)
    for name, table in RUNS.items()
    for key in ("time", "chip_time", "token_rate")
    if any(key in what.replace("=", " ").split() for what, *_ in quotients(numbers(table)))
]


@pytest.mark.parametrize("name, key", CROSSED)
def test_a_run_in_the_wrong_unit_is_noticed(name, key):
    table = entries("runs")[name]
    change(table, key, 24)
    assert any(
        got != pytest.approx(wanted, rel=within or 1e-12)
        for _, got, wanted, within in quotients(numbers(table))
    )


# ---- the rest ----


def test_ledgers_add_up():
    for name, table in entries("ledgers").items():
        row = numbers(table)
        assert row["total"] == sum(v for k, v in row.items() if k != "total"), name
        assert str(int(row["total"])) in name


def test_checkpoints_hold_the_bytes_they_say():
    found = 0
    for name, table in entries("checkpoints").items():
        row = numbers(table)
        if {"params", "bytes_per_param", "size"} <= set(row):
            loose = 0.04 if name.startswith(("BLOOM", "GPT-2")) else 0.025
            assert row["params"] * row["bytes_per_param"] == pytest.approx(
                row["size"], rel=loose
            ), name
            found += 1
        if {"params", "bytes_per_param", "bandwidth", "save"} <= set(row):
            save = row["params"] * row["bytes_per_param"] / row["bandwidth"]
            assert save == pytest.approx(row["save"], rel=0.015), name
            found += 1
        if {"files", "file_size"} <= set(row):
            assert row["files"] * row["file_size"] == pytest.approx(row["size"], rel=0.06), name
    assert found >= 6


def test_llama_3_interruptions_add_up():
    run = numbers(entries("failures")["Llama 3 405B"])
    causes = numbers(entries("failures")["Llama 3 causes"])
    assert run["interruptions"] == run["planned"] + run["unexpected"]
    assert sum(causes.values()) == run["unexpected"]
    gpu = ("faulty_gpu", "hbm", "sram", "system_processor", "silent_corruption", "thermal")
    assert sum(causes[cause] for cause in gpu) == run["gpu_related"]


@pytest.mark.parametrize("chips", [16_384, 131_072])
def test_projected_times_to_failure_follow_the_node_rate(chips):
    rows = entries("failures")
    projected = 1 / (chips / 8 * number(rows["RSC-1"]["failure_rate"]))
    assert projected == pytest.approx(number(rows[f"RSC, {chips:,} GPUs"]["mttf"]), rel=0.025)


def test_zero_stages_by_the_division_of_sixteen_bytes():
    found = 0
    for name, table in entries("footprints").items():
        row = numbers(table)
        if table["source"] == "zero-2019":
            parts = zip(
                (2, 2, 12), (3, 2, 1)
            )  # weights, gradients, optimizer: sharded from this stage on
            total = sum(
                size / (row["ranks"] if row["stage"] >= stage else 1) for size, stage in parts
            )
            assert row["params"] * total == pytest.approx(row["memory"], rel=4e-3), name
            found += 1
    assert found == 16


def test_filesystem_classes_scale_with_their_names():
    for name, table in entries("tiers").items():
        if "density" in table and name.split()[-1].isdigit():
            assert number(table["density"]) * 2**40 == pytest.approx(
                1e6 * int(name.split()[-1])
            ), name


def test_corpora_reach_what_their_filters_leave():
    web, pajama = numbers(entries("corpora")["FineWeb"]), numbers(
        entries("corpora")["RedPajama-V2"]
    )
    assert web["tokens_deduplicated"] * web["kept_c4"] * web["kept_custom"] == pytest.approx(
        web["tokens"], rel=0.04
    )
    assert web["hashes"] == web["bands"] * web["rows"]
    languages = sum(pajama[name] for name in ("english", "german", "french", "spanish", "italian"))
    assert languages == pytest.approx(pajama["tokens"], rel=5e-3)


def test_dolma_filters_by_their_own_timing():
    row = numbers(entries("tools")["Dolma C4 filters"])
    assert row["size"] / row["time"] / row["cores"] == pytest.approx(row["rate"], rel=0.08)
    assert row["core_time"] / (row["cores"] * row["time"]) == pytest.approx(
        2**40 / row["size"], rel=0.01
    )


def test_storage_prices_fall_with_each_tier():
    rows = entries("prices")
    order = ("FSx for Lustre, 125 MB/s per TiB", "Amazon S3 Standard", "S3 Glacier Deep Archive")
    prices = [number(rows[name]["storage_price"]) for name in order]
    assert prices == sorted(prices, reverse=True)
