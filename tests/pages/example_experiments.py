"""Results of experiments as `instr_bench experiment` writes them, with planted findings."""
import json
import random

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


def _metrics(which, base, scale, draw):
    _, _, backend, test = which
    factor = {SLOW: 0.17, WRONG: 50}.get(which, FACTORS.get(backend, 1))
    times = [base * scale / factor * draw.uniform(0.99, 1.01) for _ in range(10)]
    memory = 4e6 if test == "train" else 2e6
    found = {"total_time": [100 * time for time in times], "per_iter_time": times,
             "peak_memory_bytes": int(memory * (2 if which == LARGE else 1))}
    if backend != "eager":
        found["eager_per_iter_time"] = [base * draw.uniform(0.99, 1.01) for _ in range(10)]
        found["others"] = 1.0 if which == LOADED else 0.01
        found["compile_time"] = 140.0 if which == SLOW_TO_COMPILE else draw.uniform(0.1, 20)
    return found | {"ready_time": found.get("compile_time", 0) + times[0]}


def _line(which, base, scale, draw):
    suite, model, backend, test = which
    code = "VERIFIER_SKIPPED" if backend == "eager" else "PASS"
    line = {"model": {"suite_name": suite, "model_name": f"{suite}/{model}/size=small"},
            "experiment": {"device": "cpu", "device_model": "AMD EPYC", "backend": backend, "test": test,
                           "batch_size": 2, "dtype": "float32", "shapes": "static", "threads": 1},
            "repetitions": 10, "iterations_per_run": 100, "metrics": _metrics(which, base, scale, draw),
            "timestamp": "2026-11-25T00:18:22Z", "verification_code": code, "state": "measured",
            "key": key_of(*which), "asked_iterations": 0, "libtorch_version": "2.14.1"}
    if which == WRONG:
        line |= {"verification_code": "FAIL", "verification_reason": "the loss is off by 0.086"}
    if which == CRASHED:
        line |= {"verification_code": "VERIFIER_DIDNT_RUN", "state": "failed", "metrics": {},
                 "reason": "crashed: SIGSEGV: Segmentation fault"}
    if which == UNLOWERED:
        line["unlowered_operators"] = [{"name": "aten::nonzero", "count": 2}]
    if which == BREAKS:
        line["metrics"] |= {"graphs": 2, "graph_breaks": 1}
        line["graph_break_reasons"] = [{"place": "models.toml:12", "reason": "call to print", "count": 1}]
    return line


def make_experiments(suites=tuple(SUITES), models=SUITES, scale=None):
    """Returns a line for each experiment. `scale`: factors of its own times, by backend."""
    lines = []
    for suite in suites:
        draw = random.Random(suite)
        for model in models[suite]:
            for test in ("eval", "train"):
                base = draw.uniform(1e-3, 1e-2)
                for backend in ["eager", *BACKENDS["" if suite == "cpp" else "py"]]:
                    factor = (scale or {}).get(backend, 1)
                    lines.append(_line((suite, model, backend, test), base, factor, draw))
    return [line | {"experiments": len(lines)} for line in lines]


def write_experiments(file, lines):
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


__all__ = ["BACKENDS", "BREAKS", "CRASHED", "LARGE", "LOADED", "SLOW", "SLOW_TO_COMPILE", "SUITES", "UNLOWERED",
           "WRONG", "key_of", "make_experiments", "write_experiments"]
