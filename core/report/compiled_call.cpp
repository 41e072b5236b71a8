#include "core/report/compiled_call.h"

#include <algorithm>

namespace instr {

namespace {

// Functions of libtorch_python.so, up to the parameters.
constexpr const char* kLookup = "lookup";
constexpr const char* kGuards = "torch::dynamo::run_root_guard_manager";
constexpr const char* kCode = "dynamo_eval_custom_code";
constexpr const char* kBackward = "torch::autograd::python::PythonEngine::execute";
constexpr const char* kKernels = ".main.so";  // the end of the name of Inductor's libraries

const ExplainedFunction* find(const Explanation& explanation, const std::string& name) {
  const auto found = std::ranges::find_if(explanation.functions, [&](const auto& function) {
    const std::string& full = function.code.function;
    return function.code.object == "libtorch_python.so" &&
           (full == name || full.starts_with(name + "("));
  });
  return found == explanation.functions.end() ? nullptr : &*found;
}

double inclusive(const ExplainedFunction* function) {
  return function == nullptr ? 0 : function->inclusive.value_or(0);
}

// The calls of Inductor's kernels by other code.
double cost_of_kernels(const Explanation& explanation) {
  double sum = 0;
  for (const ExplainedFunction& function : explanation.functions) {
    if (!function.code.object.ends_with(kKernels)) continue;
    for (const Caller& caller : function.callers) {
      if (!caller.code.object.ends_with(kKernels)) sum += caller.ir;
    }
  }
  return sum;
}

}  // namespace

std::vector<CallPart> parts_of_compiled_call(const Explanation& explanation) {
  const ExplainedFunction* const code = find(explanation, kCode);
  if (code == nullptr || !code->inclusive || code->is_recursive) return {};
  const double guards = inclusive(find(explanation, kGuards));
  const double lookup = inclusive(find(explanation, kLookup)) - guards;
  const double backward = inclusive(find(explanation, kBackward));
  const double kernels = cost_of_kernels(explanation);
  std::vector<CallPart> parts{{"guards", guards}, {"search for the compiled code", lookup}};
  if (backward != 0) {
    parts.push_back({"compiled code of forward", *code->inclusive});
    parts.push_back({"backward()", backward});
  } else if (kernels != 0) {
    parts.push_back({"compiled code but its kernels", *code->inclusive - kernels});
    parts.push_back({"Inductor's kernels", kernels});
  } else {
    parts.push_back({"compiled code", *code->inclusive});
  }
  double sum = 0;
  for (const CallPart& part : parts) sum += part.ir;
  parts.push_back({"torch.compile() around them, and the rest", explanation.total - sum});
  return parts;
}

}  // namespace instr
