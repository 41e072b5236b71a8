"""Reads a file in the way that other programs do, and prints what it found as JSON.

consume.py json|jsonl|csv|junit FILE
consume.py schema SCHEMA FILE
"""
import csv
import json
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


readers = {
    "json": lambda path: parse(text_of(path)),
    "jsonl": lambda path: [parse(line) for line in text_of(path).removesuffix("\n").split("\n")],
    "csv": read_csv,
    "junit": read_junit,
    "schema": validate,
}
json.dump(readers[sys.argv[1]](*sys.argv[2:]), sys.stdout)
