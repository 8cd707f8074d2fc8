"""Questions of chapter 2: the fleet equation, read in every direction."""
from __future__ import annotations

from ... import DAY, chip_time_needed, chips, implied_mfu, runs, token_rate, training_flops, training_time
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

WITHIN = 0.01
H100 = chips["H100 SXM"]
MFUS = (0.3, 0.35, 0.4, 0.45, 0.5)
WORST, BEST = MFUS[0], MFUS[-1]
LLAMA_MFUS = [runs[name].mfu for name in ("Llama 3.1 405B", "Llama 3.1 405B on 8,192 GPUs",
                                          "Llama 3.1 405B at 131,072")]


def _flops(g: Givens, factor: float = 6) -> float:
    return training_flops(g.params, g.tokens, factor)


def _time(g: Givens, peak: float = H100.bf16_flops, mfu: float | None = None,
          factor: float = 6) -> float:
    return training_time(_flops(g, factor), g.chips, peak, g.mfu if mfu is None else mfu)


def _tflops(rate: float) -> str:
    """As the data sheet prints it."""
    return f"{figures(rate / 1e12)} TFLOP/s"


_TIME_TRAPS = (
    Trap("sparse peak", lambda g: _time(g, H100.bf16_sparse),
         "The peak is the figure with sparsity, {sparse}. Training uses the dense one, which is "
         "half of it."),
    Trap("no MFU", lambda g: _time(g, mfu=1),
         "That is the time at peak. No run reaches it: the MFU belongs in the denominator."),
    Trap("forward only", lambda g: _time(g, factor=2),
         "That counts the forward pass alone. Training costs three times as much: 2N forward, 4N "
         "backward per token."),
    Trap("recompute counted", lambda g: _time(g, factor=8),
         "That counts recomputation in the work, and MFU already leaves it out: six, not eight, "
         "FLOPs per parameter and token."),
    Trap("multiplied by MFU", lambda g: _time(g) * g.mfu**2,
         "The MFU has been multiplied with. A lower utilization makes the run longer, so divide by "
         "it."),
    Trap("A100 peak", lambda g: _time(g, chips["A100 80GB"].bf16_flops),
         "That is the peak of an A100. An H100 SXM does about three times as much."),
    Trap("PCIe peak", lambda g: _time(g, chips["H100 PCIe"].bf16_flops),
         "That is the peak of the PCIe card; these are SXM modules."),
    Trap("one GPU", lambda g: _time(g) * g.chips,
         "That is the time on one GPU. Divide by their number."),
)

QUESTIONS = [
    Estimate(
        id="training-time.1",
        ask="A model of {params} parameters is trained on {tokens} tokens, on {chips} H100s at "
            "{mfu} MFU. How many days of compute is that?",
        givens={"params": LogUniform(405e9, 30e9, 500e9),
                "tokens": LogUniform(15.6e12, 5e12, 20e12),
                "chips": Choice(16384, (4096, 8192, 16384, 24576)), "mfu": Choice(0.4, MFUS, "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse),
               "dense": lambda g: _tflops(H100.bf16_flops)},
        answer=_time, unit="days", traps=_TIME_TRAPS, within=WITHIN,
        hints=("Time is work over delivered rate.",
               "The work is six FLOPs per parameter and token; the rate is GPUs × peak × MFU, with "
               "the dense bf16 peak of {dense}.",
               "Divide the seconds by those of a day."),
        remark="Everything here is known closely but the MFU. Say it aloud.",
        next="How sure are you, and which one number would you want to measure?"),
    Estimate(
        id="training-time.2",
        ask="{chips} H100s train a model of {params} parameters at {mfu} MFU. How many tokens per "
            "second does the fleet get through?",
        givens={"chips": Choice(16384, (1024, 2048, 4096, 8192, 16384, 24576)),
                "params": LogUniform(70.6e9, 7e9, 500e9), "mfu": Choice(0.4, MFUS, "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: token_rate(g.chips, H100.bf16_flops, g.mfu, training_flops(g.params, 1)),
        unit="tokens/s", within=WITHIN,
        traps=(
            Trap("per GPU",
                 lambda g: token_rate(1, H100.bf16_flops, g.mfu, training_flops(g.params, 1)),
                 "That is the rate of one GPU; the fleet is asked for."),
            Trap("forward only",
                 lambda g: token_rate(g.chips, H100.bf16_flops, g.mfu,
                                      training_flops(g.params, 1, 2)),
                 "That is the cost of a forward pass. A training token costs 6N."),
            Trap("sparse peak",
                 lambda g: token_rate(g.chips, H100.bf16_sparse, g.mfu,
                                      training_flops(g.params, 1)),
                 "The peak is the figure with sparsity, {sparse}."),
            Trap("no MFU",
                 lambda g: token_rate(g.chips, H100.bf16_flops, 1, training_flops(g.params, 1)),
                 "That is the rate at peak; multiply by the MFU."),
        ),
        hints=("What does one token cost, in FLOPs?", "FLOP/s of the fleet over FLOPs per token."),
        next="What would you measure in the first hour to find the real MFU?"),
    Estimate(
        id="training-time.3",
        ask="Your team has {chips} H100s and reaches {mfu} MFU on a model of {params} parameters; "
            "{goodput} of the wall clock trains. How many days until {tokens} tokens are through?",
        givens={"params": LogUniform(8.03e9, 3e9, 80e9), "tokens": LogUniform(15e12, 2e12, 20e12),
                "chips": Choice(1024, (512, 1024, 2048, 4096)), "mfu": Choice(0.45, MFUS, "%"),
                "goodput": Choice(0.9, (0.85, 0.9, 0.95), "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: training_time(_flops(g), g.chips, H100.bf16_flops, g.mfu, g.goodput),
        unit="days", within=WITHIN,
        traps=(
            Trap("compute time only", _time,
                 "That is compute time alone. The clock also runs while the fleet restarts, saves "
                 "and waits."),
            Trap("goodput multiplied", lambda g: _time(g) * g.goodput,
                 "The goodput makes the run longer: divide by it."),
            Trap("sparse peak",
                 lambda g: training_time(_flops(g), g.chips, H100.bf16_sparse, g.mfu, g.goodput),
                 "The peak is the figure with sparsity, {sparse}."),
            Trap("forward only",
                 lambda g: training_time(_flops(g, 2), g.chips, H100.bf16_flops, g.mfu, g.goodput),
                 "That counts the forward pass alone: 2ND instead of 6ND."),
            Trap("no MFU",
                 lambda g: training_time(_flops(g), g.chips, H100.bf16_flops, 1, g.goodput),
                 "That is the time at peak; the MFU is missing."),
        ),
        hints=("Start with the compute time.", "Then ask which share of a day is compute."),
        next="Which of the two, MFU or goodput, would you try to raise first, and what would it "
             "cost?"),
    Estimate(
        id="training-time.4",
        ask="{chips} {chip} chips train a model of {params} parameters on {tokens} tokens at {mfu} "
            "MFU. How many days?",
        givens={"chip": Choice("TPU v5p", ("TPU v5p", "TPU v6e", "TPU v7")),
                "chips": Choice(8960, (4096, 8192, 8960, 9216)),
                "params": LogUniform(70.6e9, 20e9, 200e9), "tokens": LogUniform(15e12, 5e12, 20e12),
                "mfu": Choice(0.4, (0.4, 0.45, 0.5, 0.55), "%")},
        facts={"peak": lambda g: _tflops(chips[g.chip].bf16_flops)},
        answer=lambda g: _time(g, chips[g.chip].bf16_flops), unit="days", within=WITHIN,
        traps=(
            Trap("H100 peak", _time,
                 "That is the peak of an H100. Look the chip up: peaks differ by a factor of five "
                 "across the TPUs."),
            Trap("no MFU", lambda g: _time(g, chips[g.chip].bf16_flops, mfu=1),
                 "That is the time at peak; the MFU is missing."),
            Trap("forward only", lambda g: _time(g, chips[g.chip].bf16_flops, factor=2),
                 "That counts the forward pass alone."),
            Trap("one chip", lambda g: _time(g, chips[g.chip].bf16_flops) * g.chips,
                 "That is the time on one chip."),
        ),
        hints=("The fleet equation does not care who made the chip.",
               "A {chip} does {peak} dense bf16."),
        next="Why do TPU runs report higher MFU than GPU runs of the same model?"),
    Estimate(
        id="training-time.5",
        ask="A model of {params} parameters has to be through {tokens} tokens in {days} days of "
            "compute on {chips} H100s. Which MFU must the run reach?",
        givens={"params": Choice(70.6e9, (65e9, 70.6e9, 80e9)),
                "tokens": LogUniform(15e12, 12e12, 18e12),
                "days": Choice(14, (14, 15, 16, 18, 20, 21)),
                "chips": Choice(16384, (16384, 20480, 24576))},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse),
               "low": lambda g: show(min(LLAMA_MFUS), "%"), "high": lambda g: show(max(LLAMA_MFUS), "%")},
        answer=lambda g: implied_mfu(_flops(g), g.chips * g.days * DAY, H100.bf16_flops),
        unit="%", within=WITHIN,
        traps=(
            Trap("sparse peak",
                 lambda g: implied_mfu(_flops(g), g.chips * g.days * DAY, H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}: against it every MFU looks half "
                 "as high."),
            Trap("forward only",
                 lambda g: implied_mfu(_flops(g, 2), g.chips * g.days * DAY, H100.bf16_flops),
                 "That counts the forward pass alone: 2ND instead of 6ND."),
            Trap("recompute counted",
                 lambda g: implied_mfu(_flops(g, 8), g.chips * g.days * DAY, H100.bf16_flops),
                 "Eight per parameter and token counts recomputation. That is HFU; MFU counts "
                 "six."),
        ),
        hints=("Solve the fleet equation for the MFU.",
               "FLOPs of the run over FLOPs the fleet could do in that time."),
        remark="Compare with published runs before promising it: Llama 3 405B reached {low} to {high} on H100s.",
        next="Would you take the job at this deadline? What is the answer if one hour in ten "
             "goes to restarts and saves?"),
    Estimate(
        id="training-time.6",
        ask="How many GPU-hours does it take to train {params} parameters on {tokens} tokens on "
            "H100s at {mfu} MFU?",
        givens={"params": LogUniform(70.6e9, 7e9, 500e9), "tokens": LogUniform(15e12, 1e12, 20e12),
                "mfu": Choice(0.4, MFUS, "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: chip_time_needed(_flops(g), H100.bf16_flops, g.mfu), unit="GPU-hours",
        within=WITHIN,
        traps=(
            Trap("sparse peak", lambda g: chip_time_needed(_flops(g), H100.bf16_sparse, g.mfu),
                 "The peak is the figure with sparsity, {sparse}."),
            Trap("forward only", lambda g: chip_time_needed(_flops(g, 2), H100.bf16_flops, g.mfu),
                 "That counts the forward pass alone."),
            Trap("no MFU", lambda g: chip_time_needed(_flops(g), H100.bf16_flops, 1),
                 "That is the time at peak; the MFU is missing."),
            Trap("A100 peak",
                 lambda g: chip_time_needed(_flops(g), chips["A100 80GB"].bf16_flops, g.mfu),
                 "That is the peak of an A100."),
        ),
        hints=("You need not know how many GPUs there are.",
               "FLOPs over what one GPU delivers per hour."),
        next="What does that cost at the rent you pay, and why is the published figure higher?"),
    Implement(
        id="training-time.7",
        ask="Write the fleet equation. It returns seconds, takes single numbers and NumPy arrays, "
            "and raises `ValueError` for what no fleet can be: no chips, half a chip, an MFU "
            "outside `(0, 1]`.",
        stub='''
def my_training_time(flops, chips, peak, mfu, goodput=1):
    """Seconds that a run takes."""
    return ...
''',
        cases=(
            gives("the time is the work over chips × peak × MFU", training_time, 6e24, 16384, 1e15,
                  0.4),
            gives("the goodput divides", training_time, 6e24, 16384, 1e15, 0.4, 0.9),
            gives("no work takes no time", training_time, 0, 8, 1e15, 0.4),
            holds("twice the chips take half the time",
                  lambda f: abs(f(1e20, 16, 1e15, 0.5) * 2 / f(1e20, 8, 1e15, 0.5) - 1) < 1e-12),
            holds("an array of MFUs gives an array of times", lambda f: _array_like(f)),
            refuses("an MFU of zero is refused", 6e24, 16384, 1e15, 0, error=ValueError),
            refuses("a percentage (40 for 40%) is refused as MFU", 6e24, 16384, 1e15, 40,
                    error=ValueError),
            refuses("a negative number of chips is refused", 6e24, -8, 1e15, 0.4, error=ValueError),
            refuses("half a chip is refused", 6e24, 16384.5, 1e15, 0.4, error=ValueError),
            refuses("a goodput above one is refused", 6e24, 16384, 1e15, 0.4, 1.5,
                    error=ValueError),
        ),
        hints=("Get the plain formula right first; then refuse what is outside.",
               "`np.all(...)` of a condition works for numbers and for arrays."),
        solution='''
import numpy as np

def my_training_time(flops, chips, peak, mfu, goodput=1):
    """Seconds that a run takes."""
    for name, share in (("mfu", mfu), ("goodput", goodput)):
        if not np.all((np.asarray(share) > 0) & (np.asarray(share) <= 1)):
            raise ValueError(f"{name} must be in (0, 1], got {share!r}")
    if chips < 1 or chips != int(chips):
        raise ValueError(f"chips must be a whole number of at least 1, got {chips!r}")
    return flops / (chips * peak * mfu) / goodput
''',
        next="Where in this function does communication hide?"),
    Implement(
        id="training-time.8",
        ask="Write the inverse: the MFU that a deadline requires. When it would have to exceed one, "
            "raise a `ValueError` that says so.",
        stub='''
def my_required_mfu(flops, chips, peak, time, goodput=1):
    """The MFU at which a run takes `time` seconds."""
    return ...
''',
        cases=(
            holds("it undoes the fleet equation",
                  lambda f: abs(f(6e24, 16384, 1e15,
                                  training_time(6e24, 16384, 1e15, 0.37)) / 0.37 - 1) < 1e-12),
            holds("a goodput below one raises what is required",
                  lambda f: abs(f(6e24, 16384, 1e15, training_time(6e24, 16384, 1e15, 0.37, 0.9),
                                  0.9) / 0.37 - 1) < 1e-12),
            refuses("a deadline that needs more than 100% is refused", 6e24, 8, 1e15, 86400,
                    error=ValueError),
            holds("the refusal names the MFU", lambda f: _names_mfu(f)),
            refuses("a deadline of zero seconds is refused", 6e24, 16384, 1e15, 0),
        ),
        hints=("Solve T = F/(G·P·MFU)/goodput for the MFU.",),
        solution='''
def my_required_mfu(flops, chips, peak, time, goodput=1):
    """The MFU at which a run takes `time` seconds."""
    if not time > 0:
        raise ValueError(f"time must be above 0, got {time!r}")
    mfu = flops / (chips * peak * time * goodput)
    if mfu > 1:
        raise ValueError(f"the deadline needs an MFU of {mfu:.2f}: more than the peak")
    return mfu
''',
        next="At which required MFU do you stop negotiating and ask for more GPUs?"),
    Rubric(
        id="training-time.9",
        ask="For {chips} H100s at {mfu} MFU, a model of {params} parameters and {tokens} tokens, a "
            "candidate says: {wrong}. What went wrong, how do you see it, and what is your own "
            "answer?",
        givens={"params": Choice(70.6e9, (65e9, 70.6e9, 100e9)),
                "tokens": Choice(15e12, (10e12, 15e12, 18e12)),
                "chips": Choice(16384, (8192, 16384, 24576)),
                "mfu": Choice(0.4, (0.35, 0.4, 0.45), "%")},
        facts={"wrong": lambda g: training_time.worked(_flops(g), g.chips, H100.bf16_sparse, g.mfu),
               "right": lambda g: training_time.worked(_flops(g), g.chips, H100.bf16_flops, g.mfu),
               "fast": lambda g: training_time.worked(_flops(g), g.chips, H100.bf16_flops, BEST),
               "slow": lambda g: training_time.worked(_flops(g), g.chips, H100.bf16_flops, WORST),
               "best": lambda g: show(BEST, "%"), "worst": lambda g: show(WORST, "%"),
               "sparse": lambda g: _tflops(H100.bf16_sparse),
               "dense": lambda g: _tflops(H100.bf16_flops)},
        points=((2, "It finds the factor of two and names its cause: the peak with sparsity, "
                    "{sparse}."),
                (1, "It gives the dense peak, {dense}."),
                (1, "It says how to recognise the figure: the data sheet's footnote, or a ridge "
                    "point of twice the usual."),
                (1, "It restates the answer with the MFU and a range.")),
        model="The answer is half of what the fleet needs, so a factor of two went missing. The "
              "data sheet prints {sparse} with a footnote: with sparsity. Dense bf16 is {dense}, "
              "and training is dense. At {mfu} MFU the run takes {right}; between {best} and {worst} MFU, "
              "{fast} to {slow}.",
        hints=("By which factor is it off?",
               "Which number on the data sheet is off by that factor?"),
        next="Which other figures on that data sheet are summed over directions, or count "
             "sparsity?"),
]


def _array_like(function) -> bool:
    import numpy as np

    mfus = np.array([0.3, 0.4, 0.5])
    return np.allclose(function(6e24, 16384, 1e15, mfus), training_time(6e24, 16384, 1e15, mfus),
                       rtol=1e-12)


def _names_mfu(function) -> bool:
    try:
        function.plain(6e24, 8, 1e15, 86400)
    except ValueError as error:
        return "mfu" in str(error).lower()
    return False
