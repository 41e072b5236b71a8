"""A backend of torch.compile() that runs each graph with the fastest of several backends.

All compile the graph. At its first call each runs on the same inputs: one whose outputs or gradients differ
from eager's is not eligible. Then they are timed alternately, and the fastest is kept if it is faster than
eager by more than chance.
"""

import copy
import math
import random
import statistics
import time

import torch

EAGER = "eager"
ROUNDS = 15
MIN_ROUNDS = 6  # with fewer, even a backend that is faster in each round may be so by chance
MAX_SECONDS = 1.0  # of timing, for each graph, beyond MIN_ROUNDS
MIN_RUN = 1e-3  # seconds that a timed run takes at least
MAX_CALLS = 1000  # of a timed run
WARM_UPS = 3
SIGNIFICANT = 0.05
MAX_CHOICES = 500  # kept for the report
MAX_REASON_LENGTH = 300

# The relative error of a whole tensor by which outputs and gradients may differ from eager's. A tensor counts as
# at least SMALL of the largest: rounding is all that a gradient of zero consists of.
SMALL = 0.01
_TOLERANCES = {torch.float64: 1e-6, torch.complex128: 1e-6, torch.float16: 1e-2, torch.bfloat16: 4e-2}
_TOLERANCE = 1e-3

has_backward = True  # set by the snippet: gradients are computed, too
choices = []  # for instr_compiler.report(): a dictionary for each graph
_chosen = {}  # the name of the backend chosen for a graph that was compiled before, by _identity()


def _script(gm):
    """Traces the graph at its first call: before that there are no inputs."""
    traced = None

    def run(*inputs):
        nonlocal traced
        if not all(isinstance(one, torch.Tensor) for one in inputs):
            raise TypeError("only graphs of which all inputs are tensors can be traced")
        if traced is None:
            traced = torch.jit.trace(gm, inputs, check_trace=False)
        return traced(*inputs)

    return run


def _compiled(name, gm, inputs):
    """Returns a function that runs a copy of the graph, which shares its parameters."""
    graph = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    graph.meta = dict(getattr(gm, "meta", {}))
    if name == "torchscript":
        return _script(graph)
    return torch._dynamo.lookup_backend(name)(graph, inputs)


def _tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def _outputs(result):
    return _tensors(result if isinstance(result, (list, tuple)) else [result])


def _run(function, inputs, make_gradient=torch.ones_like):
    """Returns the outputs, and the gradients of the inputs, if there are any."""
    outputs = _outputs(function(*inputs))
    ends = [one for one in outputs if one.requires_grad]
    starts = [one for one in _tensors(inputs) if one.requires_grad]
    if not has_backward or not ends or not starts:
        return outputs, []
    gradients = torch.autograd.grad(ends, starts, [make_gradient(one) for one in ends], allow_unused=True)
    return outputs, _tensors(gradients)


def _same_numbers(function, inputs):
    """Runs it with the seed that each gets, and restores the state of the generators."""
    devices = {one.device.index for one in _tensors(inputs) if one.device.type == "cuda"}
    with torch.random.fork_rng(devices=sorted(devices)):
        torch.manual_seed(0)
        results = _run(function, inputs, torch.randn_like)
        return [[one.detach().clone() for one in each] for each in results]


def _size(tensor):
    exact = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor[tensor.isfinite()].to(exact).norm().item()


def _find_difference(what, ours, eager):
    """Returns how the tensors differ from eager's, or an empty text."""
    if [(one.shape, one.dtype) for one in ours] != [(one.shape, one.dtype) for one in eager]:
        return f"the number, shapes or types of {what}s differ from eager's"
    largest = max(map(_size, eager), default=0)
    for place, (one, other) in enumerate(zip(ours, eager)):
        is_exact = not (one.is_floating_point() or one.is_complex())
        if is_exact and not torch.equal(one, other):
            return f"{what} {place} differs from eager's"
        if is_exact:
            continue
        if not torch.equal(one.isfinite(), other.isfinite()):
            return f"{what} {place} is finite at other places than eager's"
        error, size = _size(one - other), max(_size(other), SMALL * largest)
        if error > _TOLERANCES.get(other.dtype, _TOLERANCE) * size:
            return f"{what} {place} is off by {error / size if size else math.inf:.2g} of eager's size"
    return ""


def _find_wrong(function, inputs, eager):
    """Returns why the function cannot be chosen, or an empty text."""
    try:
        outputs, gradients = _same_numbers(function, inputs)
    except Exception as error:
        return _reason(error)
    return _find_difference("output", outputs, eager[0]) or _find_difference("gradient", gradients, eager[1])


def _is_faster(ours, eager):
    """Returns whether it was faster in more rounds than chance explains (sign test)."""
    wins, rounds = sum(a < b for a, b in zip(ours, eager)), len(ours)
    return sum(math.comb(rounds, i) for i in range(wins, rounds + 1)) / 2**rounds < SIGNIFICANT


def _seconds(function, inputs, calls):
    is_on_cuda = any(one.device.type == "cuda" for one in _tensors(inputs))
    if is_on_cuda:
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        _run(function, inputs)
    if is_on_cuda:
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / calls


def _time_alternately(functions, inputs):
    """Returns the seconds of a call in each round, by name."""
    for function in functions.values():
        _seconds(function, inputs, WARM_UPS)
    calls = {name: min(MAX_CALLS, math.ceil(MIN_RUN / max(_seconds(function, inputs, 1), 1e-9)))
             for name, function in functions.items()}
    times = {name: [] for name in functions}
    order, end = list(functions), time.perf_counter() + MAX_SECONDS
    for number in range(ROUNDS):
        if number >= MIN_ROUNDS and time.perf_counter() > end:
            break
        random.Random(number).shuffle(order)
        for name in order:
            times[name].append(_seconds(functions[name], inputs, calls[name]))
    return times


class _Copies:
    """Copies those inputs that the graph changes: each run begins with the same values."""

    def __init__(self, run, inputs):
        self.inputs = [self._copy(one) for one in inputs]
        versions = [one._version for one in _tensors(self.inputs)]
        run(self.inputs)
        changed = [one._version != version for one, version in zip(_tensors(self.inputs), versions)]
        places = [place for place, one in enumerate(inputs) if isinstance(one, torch.Tensor)]
        self._places = {place for place, is_changed in zip(places, changed) if is_changed}
        self._inputs = inputs

    @staticmethod
    def _copy(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    def make(self):
        return [self._copy(one) if place in self._places else one for place, one in enumerate(self._inputs)]


def _choose(functions, failures, inputs):
    """Returns the name of the fastest function that computes what eager does, and the times by name."""
    results = []
    copies = _Copies(lambda given: results.extend(_same_numbers(functions[EAGER], given)), inputs)
    for name, function in list(functions.items()):
        wrong = "" if name == EAGER else _find_wrong(function, copies.make(), results)
        if wrong:
            failures[name] = wrong
            del functions[name]
    if len(functions) == 1:
        return EAGER, {}
    times = _time_alternately(functions, copies.make())
    fastest = min(times, key=lambda name: statistics.median(times[name]))
    is_chosen = fastest == EAGER or _is_faster(times[fastest], times[EAGER])
    return fastest if is_chosen else EAGER, {name: statistics.median(each) for name, each in times.items()}


def _reason(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:MAX_REASON_LENGTH]


def _identity(gm, inputs):
    """Returns what identifies a graph in this process, so that a function that is compiled again, as for the
    verification, runs with the same backends."""
    kinds = [(str(one.dtype), tuple(map(str, one.shape)), one.requires_grad, str(one.device))
             if isinstance(one, torch.Tensor) else str(type(one)) for one in inputs]
    return gm.code, str(kinds), torch.is_grad_enabled()


def _candidates(inputs, options):
    names = (options or {}).get("candidates")
    if names is None:
        is_on_cuda = any(one.device.type == "cuda" for one in _tensors(inputs))
        names = ["torchscript", "aot_eager", "inductor", *(["cudagraphs"] if is_on_cuda else [])]
    return [name for name in names if name != EAGER]


def best(gm, example_inputs, options=None):
    """The backend. `options`: `candidates`, names of backends of torch.compile(), or "torchscript"."""
    identity = _identity(gm, example_inputs)
    if identity in _chosen:
        name = _chosen[identity]
        return gm.forward if name == EAGER else _compiled(name, gm, example_inputs)
    functions, failures = {EAGER: gm.forward}, {}
    for name in _candidates(example_inputs, options):
        try:
            functions[name] = _compiled(name, gm, example_inputs)
        except Exception as error:
            failures[name] = _reason(error)
    choice = {"chosen": EAGER, "times": {}, "failures": failures}
    if len(choices) < MAX_CHOICES:
        choices.append(choice)
    chosen = None

    def run(*inputs):
        nonlocal chosen
        if chosen is None:
            name, seconds = _choose(functions, failures, inputs)
            _chosen[identity] = choice["chosen"] = name
            choice["times"] = {each: time * 1e9 for each, time in seconds.items()}
            chosen = functions[name]
            functions.clear()
        return chosen(*inputs)

    return run
