// Output derived from the profiler's events.

#include <nlohmann/json.hpp>

#include "core/measure/dump.h"
#include "core/report/explain.h"
#include "tests/golden.h"
#include "tests/testing.h"
#include "worker/wire.h"

namespace instr::inspection_test {
namespace {

using namespace testing;

// outer [0, 100] calls inner [10, 40] and itself [50, 90], which calls inner [60, 70]; a kernel
// runs simultaneously, and another thread has other calls.
constexpr const char* kEvents =
    "10 30 1 0 inner\n"
    "0 100 1 0 outer\n"
    "50 40 1 0 outer\n"
    "60 10 1 0 inner\n"
    "20 500 1 1 kernel <a, b>\n"
    "0 7 2 0 inner\n"
    "no event\n"
    "1 2\n";

const OperatorTime& named(const std::vector<OperatorTime>& times, const std::string& name) {
  for (const OperatorTime& time : times) {
    if (time.name == name) return time;
  }
  throw std::runtime_error(name);
}

TEST(Inspection, SelfTimesExcludeCallees) {
  auto calls = parse_calls(kEvents);
  ASSERT_EQ(calls.size(), 6u);
  auto times = times_by_operator(calls);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].name, "kernel <a, b>");
  EXPECT_TRUE(times[0].is_on_device);
  const OperatorTime& outer = named(times, "outer");
  EXPECT_EQ(outer.calls, 2u);
  EXPECT_EQ(outer.self, 100u - 30 - 40 + 40 - 10);
  EXPECT_EQ(outer.total, 100u);  // the outermost one includes the others
  const OperatorTime& inner = named(times, "inner");
  EXPECT_EQ(inner.calls, 3u);
  EXPECT_EQ(inner.self, 47u);
  EXPECT_EQ(inner.total, 47u);
}

// Three operators are inside two graphs; one on another thread and one of backward are outside.
TEST(Inspection, OperatorsAreInsideGraphsOrOutside) {
  const auto coverage =
      find_coverage(parse_calls("0 100 1 0 instr_graph\n"
                                "5 5 1 0 profiler::_record_function_enter_new\n"
                                "10 20 1 0 aten::linear\n"
                                "12 10 1 0 aten::addmm\n"  // a part of linear
                                "40 30 1 0 aten::relu\n"
                                "50 100 2 0 aten::sum\n"  // another thread
                                "200 60 1 0 autograd::engine::evaluate_function: SinBackward0\n"
                                "210 40 1 0 SinBackward0\n"
                                "220 25 1 0 aten::cos\n"
                                "270 10 1 0 torch::autograd::AccumulateGrad\n"
                                "300 100 1 0 instr_graph\n"
                                "310 25 1 0 mine::operator\n"));
  ASSERT_TRUE(coverage);
  EXPECT_DOUBLE_EQ(coverage->operators, 3.0 / 5);
  EXPECT_DOUBLE_EQ(coverage->time, (20.0 + 30 + 25) / (20 + 30 + 100 + 25 + 25));
}

// A kernel runs later than its operator, but within the range, which waits for it.
TEST(Inspection, TheTimeOfGraphsOnADeviceIsThatOfKernels) {
  const auto coverage =
      find_coverage(parse_calls("0 100 1 0 instr_graph\n"
                                "10 5 1 0 aten::relu\n"
                                "50 30 7 1 relu_kernel\n"
                                "200 5 1 0 aten::sin\n"
                                "210 10 7 1 sin_kernel\n"));
  ASSERT_TRUE(coverage);
  EXPECT_DOUBLE_EQ(coverage->operators, 0.5);
  EXPECT_DOUBLE_EQ(coverage->time, 0.75);
  EXPECT_FALSE(find_coverage(parse_calls("0 100 1 0 instr_graph\n")));
}

TEST(Inspection, TheTableIsAligned) {
  EXPECT_GOLDEN("inspection/operators.txt",
                operator_table(times_by_operator(parse_calls(kEvents))));
  EXPECT_NE(operator_table({}), "");
}

TEST(Inspection, TheTraceHasTheFieldsThatPerfettoNeeds) {
  auto trace = nlohmann::json::parse(chrome_trace(parse_calls(kEvents), "a \"key\"/\xff"));
  ASSERT_EQ(trace["traceEvents"].size(), 8u);  // two names of processes
  const auto& kernel = trace["traceEvents"].back()["name"] == "kernel <a, b>"
                           ? trace["traceEvents"].back()
                           : trace["traceEvents"][5];
  for (const char* field : {"ph", "name", "pid", "tid", "ts", "dur"}) {
    EXPECT_TRUE(kernel.contains(field)) << field;
  }
  EXPECT_EQ(kernel["ph"], "X");
}

TEST(Inspection, WritesTheLogsOfACompiler) {
  TemporaryFolder scratch;
  const DumpParts parts{DumpPart::kGraph, DumpPart::kCode, DumpPart::kBreaks, DumpPart::kXla};
  EXPECT_EQ(
      compiler_logs(parts),
      "graph_code aot_graphs ir hlo stablehlo output_code graph_breaks recompiles xla_metrics ");
  const wire::Message inspected{"inspected",
                                {{"graph", ""},
                                 {"log_graph_code", "before"},
                                 {"log_aot_graphs", "after"},
                                 {"log_ir", "IR {}"},
                                 {"log_hlo", "HloModule"},
                                 {"log_xla_metrics", "Metric: CompileTime"},
                                 {"log_stablehlo", "module"},
                                 {"log_output_code", "code"},
                                 {"log_graph_breaks", "a break\n"},
                                 {"log_recompiles", "once more"},
                                 {"events", kEvents},
                                 {"graph_breaks", "1"}}};
  ASSERT_TRUE(write_dump(scratch.path(), parts, parse_key("k"), inspected));
  const auto text = [&scratch](const char* name) { return text_of(scratch / name); };
  EXPECT_EQ(text("graph.before.txt"), "before");
  EXPECT_EQ(text("graph.after.txt"), "after");
  EXPECT_EQ(text("ir.txt"), "IR {}");
  EXPECT_EQ(text("hlo.txt"), "HloModule");
  EXPECT_EQ(text("xla_metrics.txt"), "Metric: CompileTime");
  EXPECT_EQ(text("stablehlo.mlir"), "module");
  EXPECT_EQ(text("code.txt"), "code");
  EXPECT_EQ(text("breaks.txt"), "a break\nonce more");
  EXPECT_EQ(text("counters.txt"), "graph_breaks 1\n");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "trace.json"));
}

TEST(Inspection, EachIterationHasAFolder) {
  TemporaryFolder scratch;
  const wire::Message one{"inspected", {{"events", kEvents}, {"log_xla_metrics", "one"}}};
  const wire::Message two{"inspected", {{"events", "0 7 2 0 other\n"}, {"log_xla_metrics", "two"}}};
  wire::Message both{"inspected", {{"1", wire::encode(one)}, {"2", wire::encode(two)}}};
  both.fields["events"] = kEvents;
  both.fields["log_graph_code"] = "graph";
  const DumpParts parts{DumpPart::kGraph, DumpPart::kProfile, DumpPart::kTrace, DumpPart::kXla};
  ASSERT_TRUE(write_dump(scratch.path(), parts, parse_key("k"), both));
  EXPECT_EQ(text_of(scratch / "1/xla_metrics.txt"), "one");
  EXPECT_EQ(text_of(scratch / "2/xla_metrics.txt"), "two");
  EXPECT_EQ(text_of(scratch / "1/profile.txt"), text_of(scratch / "profile.txt"));
  EXPECT_NE(text_of(scratch / "2/profile.txt").find("other"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "2/trace.json"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "1/graph.before.txt"));
}

// --- Calls of compiled functions ---

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
}  // namespace instr::inspection_test
