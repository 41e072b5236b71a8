// The parts of a call of a compiled function: costs as explain measured them for functions that
// Inductor compiled (torch 2.13.0).
#include <gtest/gtest.h>

#include "core/report/explain.h"

namespace instr::compiled_call_test {
namespace {

const std::string kLibrary = "libtorch_python.so";
const CodeName kPython{"cfunction_call", "libpython3.11.so", true};

ExplainedFunction function(const std::string& name, double inclusive,
                           const std::string& object = kLibrary) {
  ExplainedFunction made;
  made.code = {name, object, true};
  made.inclusive = inclusive;
  return made;
}

Explanation inference() {
  Explanation made;
  made.total = 172'329.5;
  made.has_calls = true;
  ExplainedFunction wrapper = function("kernel_py(_object*, _object*)", 262, "c2ft.main.so");
  ExplainedFunction kernel = function("kernel", 49, "c2ft.main.so");
  kernel.callers = {{wrapper.code, 49, 1}};
  wrapper.callers = {{kPython, 262, 1}};
  made.functions = {
      function("lookup", 9168),
      function("dynamo_eval_custom_code", 72'496),
      function("torch::dynamo::run_root_guard_manager(void*, FrameLocalsMapping*)", 9057),
      function("torch::dynamo::autograd::CacheNode::lookup(bool)", 1),
      wrapper,
      kernel};
  return made;
}

TEST(CompiledCall, OfInferenceHasKernels) {
  const std::vector<CallPart> parts{{"guards", 9057},
                                    {"search for the compiled code", 111},
                                    {"compiled code but its kernels", 72'234},
                                    {"Inductor's kernels", 262},
                                    {"torch.compile() around them, and the rest", 90'665.5}};
  EXPECT_EQ(parts_of_compiled_call(inference()), parts);
}

TEST(CompiledCall, OfTrainingHasABackward) {
  Explanation training = inference();
  training.total = 888'615;
  training.functions.push_back(
      function("torch::autograd::python::PythonEngine::execute(std::vector<int>)", 388'227));
  const std::vector<CallPart> parts{{"guards", 9057},
                                    {"search for the compiled code", 111},
                                    {"compiled code of forward", 72'496},
                                    {"backward()", 388'227},
                                    {"torch.compile() around them, and the rest", 418'724}};
  EXPECT_EQ(parts_of_compiled_call(training), parts);
}

TEST(CompiledCall, HasNoPartsIfNothingIsCompiledOrPartsOverlap) {
  Explanation nested = inference();
  nested.functions[1].is_recursive = true;
  EXPECT_TRUE(parts_of_compiled_call(nested).empty());
  Explanation eager = inference();
  eager.functions.erase(eager.functions.begin() + 1);
  EXPECT_TRUE(parts_of_compiled_call(eager).empty());
}

}  // namespace
}  // namespace instr::compiled_call_test
