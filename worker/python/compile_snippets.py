"""Compiles snippets of Python: requests as JSON on standard input, replies on standard output.

A request is a list of {"symbol", "purpose", "module", "setup", "statement"}: the last three are lists of
texts for the module, for the snippet's function, and for the body of its loop; the purpose is in PURPOSES.
The reply is a list of {"symbol", "code"}, marshalled and in hexadecimal digits, or {"symbol", "line",
"column", "message"}. Lines count from 1 in each text, plus LINES for it and each text before it in the
request, so that lines of code do not depend on the place of its text in a file.
"""

import ast
import json
import marshal
import sys
import textwrap

LINES = 100_000
FILE = "<snippet>"

# The functions of a snippet around the setup and, in the innermost loop, the statement: for counting and,
# suspended between blocks, for timing.
MEASURE = """
def instr_snippet_(instr_next_block_, instr_mark_, instr_simulate_, instr_range_):
    while instr_n_ := instr_next_block_(None):
        for instr_i_ in instr_range_(instr_n_):
            pass

def instr_timed_snippet_(instr_mark_, instr_simulate_, instr_range_):
    while instr_n_ := (yield):
        for instr_i_ in instr_range_(instr_n_):
            pass
"""
VERIFY = """
def instr_verifier_(instr_verification_):
    for instr_run_ in (1,):
        pass
"""
EXPORT = """
def instr_exporter_(instr_export_):
    for instr_run_ in (1,):
        pass
"""
PURPOSES = {"measure": MEASURE, "verify": VERIFY, "export": EXPORT}


class Unit:
    """The syntax trees of one request's texts."""

    def __init__(self):
        self.offset = LINES

    def parse(self, texts):
        body = []
        for text in texts:
            try:
                tree = ast.parse(textwrap.dedent(text), FILE)
            except SyntaxError as error:
                error.lineno = (error.lineno or 1) + self.offset
                raise
            ast.increment_lineno(tree, self.offset)
            self.offset += LINES
            body += tree.body
        return body


class Leaving(ast.NodeVisitor):
    """Refuses statements that would leave the measured loop."""

    def refuse(self, node):
        raise SyntaxError(
            f"'{type(node).__name__.lower()}' would leave the loop that is measured",
            (FILE, node.lineno, node.col_offset + 1, None),
        )

    def skip(self, node):
        pass

    visit_Return = visit_Yield = visit_YieldFrom = visit_Await = refuse
    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = skip


def compiled(tree):
    return compile(ast.fix_missing_locations(tree), FILE, "exec", dont_inherit=True)


def innermost(loop):
    inner = loop.body[0]
    return innermost(inner) if isinstance(inner, ast.For) else loop


def code_of(request):
    unit = Unit()
    tree = ast.parse(PURPOSES[request["purpose"]], FILE)
    functions = tree.body
    tree.body = unit.parse(request["module"]) + functions
    setup = unit.parse(request["setup"])
    statement = unit.parse(request["statement"])
    for node in setup + statement:
        Leaving().visit(node)
    loops = [function.body[0] for function in functions]
    # First outside the loop, where break and continue are errors.
    for function, loop in zip(functions, loops):
        function.body = setup + statement + [loop]
    compiled(tree)
    for function, loop in zip(functions, loops):
        function.body = setup + [loop]
        innermost(loop).body = statement or innermost(loop).body
    return marshal.dumps(compiled(tree)).hex().upper()


def reply_to(request):
    reply = {"symbol": request["symbol"]}
    try:
        reply["code"] = code_of(request)
    except (SyntaxError, ValueError, RecursionError) as error:
        reply["line"] = getattr(error, "lineno", None) or 0
        reply["column"] = getattr(error, "offset", None) or 0
        reply["message"] = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    return reply


if __name__ == "__main__":
    json.dump([reply_to(request) for request in json.load(sys.stdin)], sys.stdout)
