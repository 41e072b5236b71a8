"""Results of experiments, as lines of a results file, with planted findings."""
import json
import random
import statistics

SUITES = {"torchvision": ["resnet18", "mobilenet_v2", "alexnet"], "timm": ["dla34", "ghostnet_100", "mobilevit_s"],
          "huggingface": ["bert", "gpt2", "t5"], "cpp": ["VAE", "DLRM", "U-Net"]}
BACKENDS = {"py": ["inductor", "aot_eager", "traced"], "": ["torchscript", "frozen"]}
FACTORS = {"inductor": 1.6, "aot_eager": 1.0, "traced": 1.3, "torchscript": 1.05, "frozen": 1.15}
SLOW = ("timm", "mobilevit_s", "traced", "eval")          # 0.17x
SLOW_TO_COMPILE = ("timm", "dla34", "inductor", "train")  # 140 s
LARGE = ("huggingface", "gpt2", "aot_eager", "train")     # twice eager's memory
UNLOWERED = ("huggingface", "t5", "inductor", "eval")
WRONG = ("timm", "ghostnet_100", "inductor", "train")     # its 50x must count nowhere
CRASHED = ("cpp", "VAE", "torchscript", "train")
LOADED = ("cpp", "DLRM", "frozen", "eval")                # another process used a core
BREAKS = ("huggingface", "bert", "inductor", "eval")


def key_of(suite, model, backend, test):
    language = "" if suite == "cpp" else "py/"
    passes = "forward" if test == "eval" else "forward_backward"
    return f"{suite}/{model}/batch_size=2/size=small/{language}{backend}/{passes}/t1/cpu"


def _times(which, base, scale, draw):
    """Returns the times of a line, in nanoseconds."""
    backend = which[2]
    factor = {SLOW: 0.17, WRONG: 50}.get(which, FACTORS.get(backend, 1))
    times = {"wall": [base * scale / factor * draw.uniform(0.99, 1.01) for _ in range(10)], "iterations": 100}
    if backend != "eager":
        times["eager"] = [base * draw.uniform(0.99, 1.01) for _ in range(10)]
        times["others"] = 1.0 if which == LOADED else 0.01
    return times


def _metrics(which, times, draw):
    _, _, backend, test = which
    wall = statistics.median(times["wall"])
    memory = 4e6 if test == "train" else 2e6
    found = {"wall": wall, "peak_bytes": int(memory * (2 if which == LARGE else 1))}
    if backend != "eager":
        ratios = [own / eager for own, eager in zip(times["wall"], times["eager"])]
        found["relative_wall"] = statistics.median(ratios)
        times["relative_wall"] = ratios
        found["compile_time"] = 140e9 if which == SLOW_TO_COMPILE else draw.uniform(0.1e9, 20e9)
    return found | {"ready": found.get("compile_time", 0) + wall}


def _line(which, base, scale, draw):
    suite, model, backend, test = which
    times = _times(which, base, scale, draw)
    line = {"key": key_of(*which), "suite": suite, "label": f"{suite}/{model}",
            "params": {"batch_size": "2", "size": "small"}, "language": "cpp" if suite == "cpp" else "py",
            "backend": backend, "autograd": "forward" if test == "eval" else "forward_backward", "threads": 1,
            "device": "cpu", "outcome": "timed", "metrics": _metrics(which, times, draw), "times": times, "seconds": 1}
    if backend != "eager":
        line["verification"] = {"code": "PASS", "reason": ""}
    if which == WRONG:
        line["verification"] = {"code": "FAIL", "reason": "the loss is off by 0.086"}
    if which == CRASHED:
        fail(line, "crashed", "SIGSEGV: Segmentation fault")
        line["verification"] = {"code": "VERIFIER_DIDNT_RUN", "reason": ""}
    if which == UNLOWERED:
        line["compiler"] = {"unlowered": {"aten::nonzero": 2}}
    if which == BREAKS:
        line["metrics"] |= {"graphs": 2, "graph_breaks": 1}
        line["compiler"] = {"graph_breaks": [{"place": "models.toml:12", "reason": "call to print", "count": 1}]}
    return line


def fail(line, kind, message):
    """Makes it the line of a failure."""
    del line["metrics"], line["times"]
    line |= {"outcome": "failed", "failure": {"kind": kind, "message": message}}


def make_experiments(suites=tuple(SUITES), models=SUITES, scale=None):
    """Returns a line for each experiment. `scale`: factors of its own times, by backend."""
    lines = []
    for suite in suites:
        draw = random.Random(suite)
        for model in models[suite]:
            for test in ("eval", "train"):
                base = draw.uniform(1e6, 1e7)
                for backend in ["eager", *BACKENDS["" if suite == "cpp" else "py"]]:
                    factor = (scale or {}).get(backend, 1)
                    lines.append(_line((suite, model, backend, test), base, factor, draw))
    return lines


def write_experiments(file, lines):
    header = {"schema": 3, "program": "instr_bench", "version": "0", "started": "2026-11-25T00:18:22Z", "command": [],
              "fingerprint": {"libtorch_version": "2.14.1", "machine": {"cpu_model": "AMD EPYC"}}}
    end = {"end": {"measurements": len(lines)}}
    file.write_text("".join(json.dumps(line) + "\n" for line in [header, *lines, end]), encoding="utf-8")


__all__ = ["BACKENDS", "BREAKS", "CRASHED", "LARGE", "LOADED", "SLOW", "SLOW_TO_COMPILE", "SUITES", "UNLOWERED",
           "WRONG", "fail", "key_of", "make_experiments", "write_experiments"]
