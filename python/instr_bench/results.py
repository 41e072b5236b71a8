"""Results files of instr_bench: JSON Lines, as `--output` and `--format=jsonl` write them."""
import dataclasses
import json
import os
from typing import Any, Dict, List, Optional, Union

SCHEMA = 3  # the version of the format, in a file's first line


class ResultsError(ValueError):
    """A file that does not hold complete results of this format."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One variant of a benchmark and its outcome. Counts are per iteration, times in nanoseconds."""

    key: str  # "matmul/mm/n=64/eager/forward/t1/cpu"
    label: str  # the first part of the key
    params: Dict[str, str]  # those of the definition's matrix
    language: str  # "cpp" or "py"
    backend: str  # "eager", "torchscript", "inductor", ...
    autograd: str  # "forward", "forward_backward" or "forward_backward_eval"
    threads: int
    device: str  # "cpu" or "cuda"
    outcome: str  # "counted", "timed", "verified", "skipped" or "failed"
    metrics: Dict[str, float]  # by name: "instructions", "allocs", "wall" (the median), ...
    times: Dict[str, List[float]]  # of each repetition, by name
    steady: Optional[bool]  # whether the count comes out again; None: not counted
    gated: Optional[bool]  # whether limits apply to the count; None: not counted
    problem: Optional[str]  # why it was skipped or failed
    line: Dict[str, Any] = dataclasses.field(repr=False)  # all members, as written

    @classmethod
    def _of(cls, line: Dict[str, Any]) -> "Measurement":
        failure = line.get("failure")
        return cls(
            key=line["key"], label=line["label"], params=line["params"],
            language=line.get("language", "cpp"), backend=line["backend"],
            autograd=line["autograd"], threads=line["threads"], device=line["device"],
            outcome=line["outcome"],
            metrics={name: value for name, value in line.get("metrics", {}).items()
                     if value is not None},
            times={name: values for name, values in line.get("times", {}).items()
                   if isinstance(values, list)},
            steady=line.get("steady"), gated=line.get("gated"),
            problem=f"{failure['kind']}: {failure['message']}" if failure else line.get("reason"),
            line=line)


def read(path: Union[str, "os.PathLike[str]"], allow_incomplete: bool = False) -> List[Measurement]:
    """Returns the measurements of a results file, in its order.

    Raises ResultsError if the file is malformed or of another version, and, unless
    `allow_incomplete`, if the run that wrote it did not finish."""
    name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().split("\n") if line]
    if lines and not allow_incomplete and not lines[-1].startswith('{"end"'):
        raise ResultsError(f"{name} is incomplete: its run did not finish (allow_incomplete=True reads it)")
    measurements = []
    for number, text in enumerate(lines, start=1):
        try:
            line = json.loads(text)
            if number == 1:
                _check_header(name, line)
            elif "key" in line:
                measurements.append(Measurement._of(line))
        except ResultsError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if allow_incomplete and number == len(lines):
                break  # the line that was being written
            raise ResultsError(f"{name}:{number}: malformed: {error!r}") from None
    if not lines:
        raise ResultsError(f"{name} is empty")
    return measurements


def _check_header(name: str, line: Dict[str, Any]) -> None:
    if line.get("program") != "instr_bench":
        raise ResultsError(f"{name} is not a results file of instr_bench")
    if line["schema"] != SCHEMA:
        raise ResultsError(f"{name} has format {line['schema']}, this reads {SCHEMA}: "
                           "use the instr_bench that wrote it, or measure again")


def read_frame(path: Union[str, "os.PathLike[str]"], allow_incomplete: bool = False) -> Any:
    """Returns the same as a pandas.DataFrame: a row for each key, with a column for each
    parameter and metric. Needs pandas."""
    import pandas  # type: ignore[import-untyped, unused-ignore]

    rows = []
    for one in read(path, allow_incomplete):
        row = dataclasses.asdict(one)
        for name in ("line", "times", "params", "metrics"):
            del row[name]
        rows.append({**row, **one.params, **one.metrics})
    return pandas.DataFrame(rows).set_index("key") if rows else pandas.DataFrame()
