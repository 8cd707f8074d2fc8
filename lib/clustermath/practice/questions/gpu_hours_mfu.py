"""Questions of chapter 4: published GPU-hours and the utilization they imply."""
from __future__ import annotations

from ... import HOUR, chip_time_needed, chips, flops_per_token, implied_mfu, mfu_factors, models, runs, training_flops
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100, A100 = chips["H100 SXM"], chips["A100 80GB"]
LLAMA8, LLAMA405 = models["Llama 3 8B"], models["Llama 3.1 405B"]
RUN405 = runs["Llama 3.1 405B"]


def _tflops(rate: float) -> str:
    """As the data sheet prints it."""
    return f"{figures(rate / 1e12)} TFLOP/s"


def _spent(g: Givens) -> float:
    return g.hours * HOUR


def _implied(g: Givens, peak: float, factor: float = 6) -> float | None:
    """None where the mistake gives more than the peak and shows itself."""
    flops = training_flops(g.params, g.tokens, factor)
    return flops / (_spent(g) * peak) if flops <= _spent(g) * peak else None


def _counted8(g: Givens) -> float:
    """FLOPs of the run with causal attention, 8B shapes."""
    per_token = flops_per_token(LLAMA8.matmul_params, LLAMA8.layers, LLAMA8.heads * LLAMA8.head_dim, g.context)
    return per_token * g.tokens


_FORWARD = "That counts the forward pass alone: 2ND instead of 6ND."

QUESTIONS = [
    Estimate(
        id="gpu-hours-mfu.1",
        ask="How many H100-hours does it take to train {params} parameters on {tokens} tokens at {mfu} MFU?",
        givens={"params": LogUniform(70.6e9, 7e9, 500e9), "tokens": LogUniform(15e12, 1e12, 20e12),
                "mfu": Choice(0.4, (0.3, 0.35, 0.4, 0.45, 0.5), "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: chip_time_needed(training_flops(g.params, g.tokens), H100.bf16_flops, g.mfu), unit="GPU-hours",
        traps=(
            Trap("no MFU", lambda g: chip_time_needed(training_flops(g.params, g.tokens), H100.bf16_flops, 1),
                 "Those are hours at the peak. The MFU belongs in the denominator."),
            Trap("multiplied by MFU", lambda g: chip_time_needed(training_flops(g.params, g.tokens), H100.bf16_flops, 1) * g.mfu,
                 "The MFU has been multiplied with. A lower utilization takes more hours."),
            Trap("sparse peak", lambda g: chip_time_needed(training_flops(g.params, g.tokens), H100.bf16_sparse, g.mfu),
                 "The peak is the figure with sparsity, {sparse}. Training uses the dense one."),
            Trap("forward only", lambda g: chip_time_needed(training_flops(g.params, g.tokens, 2), H100.bf16_flops, g.mfu), _FORWARD),
        ),
        hints=("The number of GPUs does not matter.", "Work over what one GPU delivers in an hour."),
        next="Which of the inputs would you have to measure before you sign a contract?"),
    Estimate(
        id="gpu-hours-mfu.2",
        ask="A model card says: {params} parameters, {tokens} tokens, {hours} A100-hours. Which MFU does that imply?",
        givens={"params": Choice(68.98e9, (65.2e9, 68.98e9, 70.6e9)), "tokens": Choice(2e12, (1.4e12, 1.8e12, 2e12)),
                "hours": LogUniform(1_720_320, 1_500_000, 2_500_000)},
        answer=lambda g: implied_mfu(training_flops(g.params, g.tokens), _spent(g), A100.bf16_flops), unit="%",
        traps=(
            Trap("H100 peak", lambda g: _implied(g, H100.bf16_flops), "That is the peak of an H100. The card says A100."),
            Trap("sparse peak", lambda g: _implied(g, A100.bf16_sparse), "That is the peak with sparsity, twice the dense one."),
            Trap("forward only", lambda g: _implied(g, A100.bf16_flops, 2), _FORWARD),
            Trap("recompute counted", lambda g: _implied(g, A100.bf16_flops, 8),
                 "Eight per parameter and token counts recomputation. That is HFU; MFU counts six."),
        ),
        hints=("Solve the fleet equation for the utilization.", "Hours times the seconds of an hour times the peak is what the fleet could have done."),
        next="Is that the utilization of the steps or of the bill?"),
    Estimate(
        id="gpu-hours-mfu.3",
        ask="A mixture of experts with {params} active parameters saw {tokens} tokens in {hours} H800-hours, mostly in fp8. "
            "How much did one GPU deliver on average, in TFLOP/s?",
        givens={"params": LogUniform(37e9, 20e9, 50e9), "tokens": LogUniform(14.8e12, 10e12, 20e12),
                "hours": LogUniform(2_664_000, 2_000_000, 4_000_000), "total": Choice(671e9, (671e9,))},
        facts={"bf16": lambda g: _tflops(chips["H800"].bf16_flops), "fp8": lambda g: _tflops(chips["H800"].fp8_flops)},
        answer=lambda g: training_flops(g.params, g.tokens) / _spent(g), unit="TFLOP/s",
        traps=(
            Trap("total parameters", lambda g: training_flops(g.total, g.tokens) / _spent(g),
                 "That counts all {total} parameters. A token passes through the active ones only."),
            Trap("forward only", lambda g: training_flops(g.params, g.tokens, 2) / _spent(g), _FORWARD),
        ),
        hints=("No peak is needed for this one.", "Work over GPU-seconds."),
        remark="Over the bf16 peak of {bf16} and the fp8 peak of {fp8} the same rate gives two utilizations, one half of the other. "
               "Quote it with the peak of the precision that does the work.",
        next="Which of the two would you quote, and to whom?"),
    Estimate(
        id="gpu-hours-mfu.4",
        ask="The card of an 8B model says {tokens} tokens and {hours} H100-hours. Count causal attention at a context of {context}: "
            "with {layers} layers of width {width} and {matmul} parameters in matrix products, which MFU is that?",
        givens={"tokens": Choice(15e12, (12e12, 15e12)), "hours": LogUniform(1_460_000, 1_200_000, 2_500_000),
                "context": Choice(8192, (4096, 8192, 16384))},
        facts={"layers": lambda g: LLAMA8.layers, "width": lambda g: LLAMA8.heads * LLAMA8.head_dim, "matmul": lambda g: LLAMA8.matmul_params,
               "sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: implied_mfu(_counted8(g), _spent(g), H100.bf16_flops), unit="%", within=0.01,
        traps=(
            Trap("no attention", lambda g: implied_mfu(training_flops(LLAMA8.matmul_params, g.tokens), _spent(g), H100.bf16_flops),
                 "Attention is missing: it adds six FLOPs per layer, width and token of context."),
            Trap("full square", lambda g: implied_mfu(2 * _counted8(g) - training_flops(LLAMA8.matmul_params, g.tokens), _spent(g), H100.bf16_flops),
                 "That counts the full square. Under a causal mask a token looks back over half the context on average."),
            Trap("sparse peak", lambda g: implied_mfu(_counted8(g), _spent(g), H100.bf16_sparse), "The peak is the figure with sparsity, {sparse}."),
        ),
        hints=("Per token: 6N of the matrix products, plus attention.", "Attention under a causal mask: `6 * layers * width * context`."),
        next="Why might the hours on a model card belong to more than one run?"),
    Estimate(
        id="gpu-hours-mfu.5",
        ask="A run reports {mfu} MFU for its steps, attention counted. Attention adds {extra} to 6ND, and {goodput} of the hours stepped. "
            "Which MFU do all its hours imply for 6ND?",
        givens={"mfu": Choice(0.404, (0.38, 0.404, 0.43, 0.45), "%"), "extra": Choice(0.039, (0.02, 0.039, 0.06, 0.12), "%"),
                "goodput": Choice(0.887, (0.8, 0.85, 0.887, 0.92), "%")},
        answer=lambda g: g.mfu * g.goodput / (1 + g.extra), unit="%", within=0.01,
        traps=(
            Trap("attention multiplied", lambda g: g.mfu * g.goodput * (1 + g.extra),
                 "The rate already counts attention; taking it out makes the figure smaller."),
            Trap("goodput divided", lambda g: g.mfu / g.goodput / (1 + g.extra), "Hours without steps lower the figure: multiply by the goodput."),
            Trap("attention left in", lambda g: g.mfu * g.goodput, "That still counts attention. The question asks for 6ND."),
            Trap("goodput left out", lambda g: g.mfu / (1 + g.extra), "That is for the hours that stepped; all hours are asked for."),
        ),
        hints=("Two factors separate the figures: one per numerator, one per denominator.",),
        next="Which of the two factors would a better cluster change?"),
    Implement(
        id="gpu-hours-mfu.6",
        ask="Write the factorisation: a tuple of implied MFU, step MFU, goodput and counted work over 6ND. Raise `ValueError` when a step "
            "is faster than the peak or when there are no hours.",
        stub='def my_factors(flops, counted, chip_time, peak, step_rate):\n    """(implied, step, goodput, counted per 6ND)."""\n    return ...',
        cases=(
            holds("the implied MFU is the work over chip-time × peak", lambda f: _near(f, 0)),
            holds("the step MFU is the step's rate over the peak", lambda f: _near(f, 1)),
            holds("the goodput is counted work over what the hours could have stepped", lambda f: _near(f, 2)),
            holds("the last factor is counted work over 6ND", lambda f: _near(f, 3)),
            holds("implied = step × goodput ÷ counted, for any run", lambda f: _identity(f)),
            refuses("a step above the peak is refused", 6e24, 6.2e24, 3e10, 1e15, 1.2e15, error=ValueError),
            refuses("no hours are refused", 6e24, 6.2e24, 0, 1e15, 4e14, error=ValueError),
        ),
        hints=("Each factor is one division.", "The goodput: what was counted, over hours times the rate of a step."),
        solution='''
def my_factors(flops, counted, chip_time, peak, step_rate):
    """(implied, step, goodput, counted per 6ND)."""
    if step_rate > peak:
        raise ValueError("step_rate is above the peak")
    if not chip_time > 0:
        raise ValueError("chip_time must be above 0")
    return flops / (chip_time * peak), step_rate / peak, counted / (chip_time * step_rate), counted / flops
''',
        next="Which of the four would you put on a dashboard?"),
    Rubric(
        id="gpu-hours-mfu.7",
        ask="Meta's paper reports {printed} MFU for Llama 3.1 405B; its GPU-hours imply {implied}. Who is right, and what lies between?",
        facts={"printed": lambda g: f"{figures(100 * RUN405.mfu)}%",
               "implied": lambda g: f"{figures(100 * _factors405().implied, 3)}%",
               "goodput": lambda g: f"{figures(100 * _factors405().goodput, 3)}%",
               "extra": lambda g: f"{figures(100 * (_factors405().counted - 1), 2)}%"},
        points=((1, "Both: the denominators differ, a step against all hours."),
                (2, "It names goodput and puts it near nine tenths."),
                (1, "It names attention, which the step rate counts and 6ND does not, and puts it at a few percent."),
                (1, "It gives the product that closes the gap.")),
        model="Both. The paper divides the work of a step, attention included, by what a GPU could have done in that step. The hours include "
              "restarts and saves, and 6ND leaves attention out. Attention adds {extra} at this context, and a goodput of {goodput} closes the rest.",
        hints=("What is in each numerator, and what in each denominator?",),
        next="Which of the two belongs in a budget?"),
]


def _factors405():
    per_token = flops_per_token(LLAMA405.matmul_params, LLAMA405.layers, LLAMA405.heads * LLAMA405.head_dim, LLAMA405.context)
    return mfu_factors(training_flops(405e9, RUN405.tokens), per_token * RUN405.tokens, RUN405.chip_time, H100.bf16_flops, RUN405.rate)


def _near(function, place: int) -> bool:
    case = (6e24, 6.3e24, 2e10, 1e15, 4e14)
    return abs(function(*case)[place] / mfu_factors(*case)[place] - 1) < 1e-9


def _identity(function) -> bool:
    implied, step, goodput, counted = function(3e24, 3.6e24, 1.1e10, 9e14, 3.9e14)
    return abs(implied / (step * goodput / counted) - 1) < 1e-9
