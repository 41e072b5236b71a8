"""The code that zygotes run before they fork. Forked processes inherit Valgrind's translations of it, which take
ten times as long as running it. A change of it changes the worker's version.
"""

import sys

torch = sys.modules.get("torch")  # absent if tests do not use it

# A snippet as compile_snippets.py makes them.
REHEARSED = """
def instr_snippet_(next_block, mark, simulate, range):
    x, y = torch.ones(4, 4), torch.ones(4, 4)
    while n := next_block(None):
        for i in range(n):
            z = x + y
"""
REHEARSED_WITHOUT_TORCH = """
def instr_snippet_(next_block, mark, simulate, range):
    while n := next_block(None):
        for i in range(n):
            pass
"""


def _create():
    torch.manual_seed(0)
    torch.zeros(4)
    torch.ones(4, 4, dtype=torch.int64)
    torch.empty(4)
    torch.full((2, 2), 1.5)
    torch.arange(8)
    torch.eye(2)
    torch.randint(0, 9, (4, 4))
    torch.randn(4)
    torch.tensor([1.0, 2.0])
    return torch.rand(4, 4), torch.rand(4), torch.rand((4, 4), requires_grad=True)


def _compute(x, y, w):
    x + y, x - y, x * y, x / y, x + 1, x * 2.5, x == y, x == 1
    x.add_(y)
    x += 1
    x *= y
    torch.add(x, y, out=x)
    x + torch.ones(4, 4, dtype=torch.int32)
    x.mm(x), torch.matmul(x, y), torch.nn.functional.linear(x, w), torch.bmm(x[None], x[None])
    torch.relu(x), x.sigmoid(), x.exp(), torch.softmax(x, -1), torch.nn.functional.layer_norm(x, (4,))
    x.sum(), x.sum(0), x.mean(-1), x.max(), x.argmax(1), x.norm()
    x.sum().item()


def _move(x, y):
    x.clone(), x.t().contiguous(), x.to(torch.float64), x.detach()
    x.copy_(y)
    x.zero_()
    x.uniform_()
    x.view(16), x.reshape(2, 8), x.transpose(0, 1), x.permute(1, 0), x[None].expand(2, 4, 4), x.squeeze()
    x[0], x[0, 1], x[:, 1:], x[None], x[..., 0], x[torch.tensor([0, 1])], x[x > 0.5]
    x[0] = 1
    x[:2] = y
    torch.cat([x, x]), torch.stack([x, x]), x.chunk(2)


def _differentiate(x, w):
    y = torch.relu(torch.mm(x, w) + x) * 2
    y.t().contiguous().view(16).sum().backward()
    nn = torch.nn
    layer = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))
    nn.functional.cross_entropy(layer(x), torch.zeros(4, dtype=torch.int64)).backward()
    with torch.no_grad():
        image = torch.rand(1, 2, 4, 4)
        nn.BatchNorm2d(2)(nn.Conv2d(2, 2, 3, padding=1)(image))
        nn.Embedding(4, 4)(torch.arange(2))


def eager():
    for _ in range(3):
        x, y, w = _create()
        _compute(x, y, w)
        _move(x, y)
        _differentiate(x, w)


def compiler():
    """Has torch.compile() import the modules that it imports on first use. Without a kernel, so that no C++
    compiler runs. Not for zygotes: calls of compiled functions would move when other modules change."""
    product = torch.compile(lambda x: torch.mm(x, x), backend="inductor")
    for gradients in False, True:
        y = product(torch.ones((4, 4), requires_grad=gradients))
        if gradients:
            y.sum().backward()


_SCRIPT = """
def instr_function(x, w):
    y = torch.mm(x, w) + x
    return torch.relu(y) * 2
"""
_CALLS = 4  # until TorchScript has profiled and optimised a script


def torchscript():
    x, w = torch.rand(4, 4), torch.rand((4, 4), requires_grad=True)
    for weight in w.detach(), w:
        function = torch.jit.CompilationUnit(_SCRIPT).instr_function
        for _ in range(_CALLS):
            y = function(x, weight)
            if weight is w:
                y.sum().backward()
    nn = torch.nn
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))
    filters = nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2))
    for module, argument in (layers, x), (filters, torch.rand(1, 2, 4, 4)):
        script = torch.jit.script(module)
        for _ in range(_CALLS):
            script(argument).sum().backward()


def cuda():
    """Initializes CUDA on stand-ins for its libraries. Without gradients: autograd's engine would start a thread."""
    torch.cuda.init()
    torch.cuda._is_in_bad_fork = lambda: False  # the stand-ins work in forked processes
    for _ in range(3):
        x = torch.rand(4, 4, device="cuda") + torch.ones(4, 4, device="cuda")
        y = torch.relu(x.mm(x) + x) * 2
        y.t().contiguous().view(16).sum().item()


def torchscript_on_cuda():
    x = torch.rand(4, 4, device="cuda")
    function = torch.jit.CompilationUnit(_SCRIPT).instr_function
    for _ in range(_CALLS):
        function(x, x)
