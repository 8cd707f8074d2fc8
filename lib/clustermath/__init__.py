"""The arithmetic of training large language models.

Formulas, published figures with their sources, explorers and questions. Names are imported when
they are first used, so that ``import clustermath`` costs next to nothing.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

# Public name -> module. One home for what `from clustermath import name` offers.
_HOMES = {
    "types": ("Bandwidth Bytes ChipDuration ChipTime Count Dollars Domain Duration Extra Flag FlopRate Flops Loss Natural Number Params "
              "PartShare PerSecond Positive Price Rate Seconds Share Size Stage Tokens Work"),
    "formulas": "Formula Worked formula",
    "checking": "checked",
    "ops": "INF ceil exp floor log2 maximum minimum sqrt",
    "value": "Value Whole",
    "quantity": "show tex",
    "registry": ("checkpoints chips corpora failures footprints gains ledgers links pools prices runs serving "
                 "signals sources tiers tools"),
    "transformer": "Transformer models moe",
    "inputs": "given givens",
    "tables": "Table references",
    "figures": "figure tornado",
    "units": "DAY GB GIB HOUR MIB MINUTE MONTH TB TIB",
    "widgets.explorer": "Explorer Grid choice guess slider",
    "practice": "ask check hint solution",
    "compute": ("MfuFactors Plan attention_context attention_flops chip_cost chip_time_needed chips_needed fleet_rate "
                "flop_price flops_per_token implied_mfu mfu_factors plan_run recompute_factor round_up_chips token_cost "
                "token_rate training_flops training_time"),
    "experts": "MoeTransformer distinct_ranks expert_weight_bytes experts_touched",
    "adapters": "linear_shapes lora_params",
    "memory": ("activation_bytes activation_coefficient bytes_per_param checkpoint_every chips_for_memory "
               "gathered_layer_bytes kv_bytes layer_activation_bytes logits_bytes lora_bytes min_ranks model_bytes "
               "state_bytes"),
    "roofline": ("break_even_batch bucket_efficiency context_wall decode_batch decode_cost decode_time matmul_batch "
                 "matmul_intensity matmul_time padded ridge tile_utilization"),
    "collectives": ("all_to_all_bytes all_to_all_rate busbw half_size nvls_bytes ring_bytes ring_factor ring_link_load "
                    "ring_time torus_bisection torus_time"),
    "hlo": "hlo_collectives",
    "parallel": ("collective_counts dim0_shard exposed_comm fsdp_tp_threshold hiding_bandwidth hiding_step layouts "
                 "node_bandwidth offload_time quantised_volume token_threshold tp_limit wire_bytes"),
    "timeline": "Timeline adam_time exposed_time read_trace speedup unaccounted_time",
    "storage": ("burst_ratio cheapest_class connections_needed devices_needed fs_size in_flight prefixes "
                "request_efficiency request_size request_throughput request_time storage_bytes tiered_cost "
                "transfer_time"),
    "corpus": ("core_time cores_needed dataset_bytes loader_demand match_probability mean_rate pipeline "
               "prefetch_depth read_rate sample_rate sequence_offset shard_count signature_bytes stall_share "
               "token_bits token_size"),
    "dataorder": "LoaderState sample_indices",
    "checkpoint": ("checkpoint_loss checkpoint_share daly_interval drain_is_stable lost_work_share renewal_goodput "
                   "restore_bandwidth restore_time save_bandwidth young_interval"),
    "manifest": "checkpoint_is_usable latest_usable",
    "reliability": ("barrier_tax detection_steps ettr expected_loss expected_max failure_probability goodput_product "
                    "interruption_budget job_mtbf observed_mtbf recovery_time rescale_probability restart_share rpo "
                    "straggler_loss straggler_scores"),
    "pool": ("borrowable headroom_needed loan_efficiency min_loan_window pool_utilization reclaim_time slo_break_ramp "
             "slo_break_step"),
    "poolsim": "simulate_pool",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"clustermath has no {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
