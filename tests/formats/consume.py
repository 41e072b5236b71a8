"""Reads a file in the way that other programs do, and prints what it found as JSON.

consume.py json|jsonl|csv|junit FILE
consume.py schema|speedscope SCHEMA FILE
consume.py firefox FILE
"""
import csv
import importlib.util
import json
import pathlib
import sys


def no_number(text):
    raise ValueError(f"{text} is not JSON")


def parse(text):
    return json.loads(text, parse_constant=no_number)


def text_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    for row in rows:
        if None in row or None in row.values():
            raise ValueError(f"{len(row)} fields where the first line has others: {row}")
    return rows


def result_of(case):
    for result in case.result:
        return {"result": type(result).__name__.lower(), "type": result.type,
                "message": result.message, "text": result.text}
    return {"result": "passed"}


def read_junit(path):
    from junitparser import JUnitXml

    suites = []
    for suite in JUnitXml.fromfile(path):
        said = {name: getattr(suite, name) for name in ("tests", "failures", "errors", "skipped")}
        suite.update_statistics()
        counted = {name: getattr(suite, name) for name in said}
        if said != counted:
            raise ValueError(f"the totals are {said}, and the cases {counted}")
        suites.append({
            "name": suite.name, **said, "time": suite.time, "timestamp": suite.timestamp,
            "properties": {one.name: one.value for one in suite.properties()},
            "cases": [{"name": case.name, "classname": case.classname, "time": case.time,
                       "output": case.system_out, **result_of(case)} for case in suite],
        })
    return suites


def validate(schema, path):
    import jsonschema

    value = parse(text_of(path))
    jsonschema.Draft7Validator.check_schema(parse(text_of(schema)))
    jsonschema.validate(value, parse(text_of(schema)), jsonschema.Draft7Validator)
    # JSON Schema counts characters, and the server bytes.
    if isinstance(value, dict) and any(len(name.encode()) > 1024 for name in value):
        raise ValueError("a name of more than 1,024 bytes")
    return value


def check(holds, what):
    if not holds:
        raise ValueError(what)


def costs_of(stacks, weights):
    """The weight of each stack of names, by its text."""
    costs = {}
    for stack, weight in zip(stacks, weights, strict=True):
        costs[";".join(stack)] = costs.get(";".join(stack), 0) + weight
    return costs


def read_speedscope(schema, path):
    file = validate(schema, path)
    frames = [frame["name"] for frame in file["shared"]["frames"]]
    profile = file["profiles"][file["activeProfileIndex"]]
    check(all(frame < len(frames) for stack in profile["samples"] for frame in stack), "a frame is missing")
    check(abs(sum(profile["weights"]) - (profile["endValue"] - profile["startValue"])) < 1e-3, "the end is elsewhere")
    return costs_of([[frames[frame] for frame in stack] for stack in profile["samples"]], profile["weights"])


# Of a processed profile: what a column's numbers are rows of, where they may be null or -1.
FIREFOX_REFERENCES = {
    ("samples", "stack"): "stackTable", ("stackTable", "prefix"): "stackTable", ("stackTable", "frame"): "frameTable",
    ("frameTable", "func"): "funcTable", ("frameTable", "nativeSymbol"): "nativeSymbols",
    ("funcTable", "resource"): "resourceTable", ("funcTable", "name"): "stringArray",
    ("resourceTable", "name"): "stringArray", ("resourceTable", "lib"): "libs",
    ("frameTable", "category"): "categories", ("stackTable", "category"): "categories",
}


def read_firefox(path):
    """As its documentation says (src/types/profile in the profiler's repository)."""
    profile = parse(text_of(path))
    [package] = importlib.util.find_spec("vmprofconvert").submodule_search_locations
    spec = importlib.util.spec_from_file_location("checker", pathlib.Path(package) / "processedformat.py")
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    checker.check_processed_profile(profile)
    [thread] = profile["threads"]
    lengths = {name: table["length"] for name, table in thread.items() if isinstance(table, dict)}
    for name in lengths:
        for column, values in thread[name].items():
            check(not isinstance(values, list) or len(values) == lengths[name], f"{name}.{column} is of another length")
    lengths |= {"stringArray": len(thread["stringArray"]), "libs": len(profile["libs"]),
                "categories": len(profile["meta"]["categories"])}
    for (table, column), of in FIREFOX_REFERENCES.items():
        check(all(row is None or row == -1 or 0 <= row < lengths[of] for row in thread[table][column]),
              f"{table}.{column} refers to nothing")
    check([one for one in profile["meta"]["categories"] if one["color"] == "grey"], "there is no default category")
    samples, stacks = thread["samples"], thread["stackTable"]
    check(samples["time"] == sorted(samples["time"]), "time goes back")
    check(samples["weightType"] in ("samples", "tracing-ms", "bytes"), "weights of no known type")
    check(all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"])), "a caller comes after its callee")

    def names(stack):
        at = thread["funcTable"]["name"][thread["frameTable"]["func"][stacks["frame"][stack]]]
        prefix = stacks["prefix"][stack]
        return (names(prefix) if prefix is not None else []) + [thread["stringArray"][at]]

    return costs_of([names(stack) for stack in samples["stack"]], samples["weight"])


readers = {
    "json": lambda path: parse(text_of(path)),
    "jsonl": lambda path: [parse(line) for line in text_of(path).removesuffix("\n").split("\n")],
    "csv": read_csv,
    "junit": read_junit,
    "schema": validate,
    "speedscope": read_speedscope,
    "firefox": read_firefox,
}
json.dump(readers[sys.argv[1]](*sys.argv[2:]), sys.stdout)
