#include "core/definitions/expand.h"

#include <limits>

#include "tests/testing.h"

namespace instr::expand_test {
namespace {

using namespace testing;

GroupedBenchmark definition(const std::string& label) {
  GroupedBenchmark result;
  result.label = label;
  result.where = {"a.toml", 3, 1};
  result.statements = {{.text = Text{"auto y = x + {n};", {"a.toml", 5, 9}}}};
  return result;
}

std::vector<std::string> keys(const std::vector<GroupedBenchmark>& definitions) {
  return keys_of(value_of(expand(definitions)));
}

TEST(Substitute, ReplacesParametersAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> params{{"n", "64"}, {"m", "{n}"}};
  EXPECT_EQ(substitute("rand({{n}, {n}})", params), "rand({64, 64})");
  EXPECT_EQ(substitute("{m}{n}", params), "{n}64");  // values are not substituted again
  EXPECT_EQ(substitute("{k} {nn} { n } {n {} {", params), "{k} {nn} { n } {n {} {");
  EXPECT_EQ(substitute("{n}", params), "64");
  EXPECT_EQ(substitute("{n}", {}), "{n}");
  EXPECT_EQ(substitute("", params), "");
}

TEST(Expand, GivesOneVariantToAPlainStatement) {
  EXPECT_EQ(keys({definition("add")}), (std::vector<std::string>{"add/eager/forward/t1/cpu"}));
}

TEST(Expand, GivesEveryCombinationInOrder) {
  GroupedBenchmark all = definition("matmul/mm");
  all.torchscript = Text{"y = x + {n}", {}};
  all.autograd = true;
  all.threads = {1, 2};
  all.devices = {"cpu", "cuda"};
  all.matrix = {{"n", {"4", "64"}}, {"a", {"true", "x"}}};
  const std::vector<std::string> got = keys({all});
  ASSERT_EQ(got.size(), 64u);
  EXPECT_EQ(count_variants(all), 64u);
  EXPECT_EQ(got[0], "matmul/mm/n=4/a=true/eager/forward/t1/cpu");
  EXPECT_EQ(got[1], "matmul/mm/n=4/a=true/eager/forward/t1/cuda");
  EXPECT_EQ(got[2], "matmul/mm/n=4/a=true/eager/forward/t2/cpu");
  EXPECT_EQ(got[4], "matmul/mm/n=4/a=true/eager/forward_backward/t1/cpu");
  EXPECT_EQ(got[8], "matmul/mm/n=4/a=true/torchscript/forward/t1/cpu");
  EXPECT_EQ(got[16], "matmul/mm/n=4/a=x/eager/forward/t1/cpu");
  EXPECT_EQ(got[63], "matmul/mm/n=64/a=x/torchscript/forward_backward/t2/cuda");
}

TEST(Expand, CapturesGraphsOnlyOnCuda) {
  GroupedBenchmark both = definition("add");
  both.torchscript = Text{"y = x", {}};
  both.autograd = true;
  both.devices = {"cpu", "cuda"};
  const std::vector<Backend> backends{Backend::kTorchScript, Backend::kCudaGraph};
  EXPECT_EQ(keys_of(value_of(expand({both}, backends))),
            (std::vector<std::string>{
                "add/torchscript/forward/t1/cpu", "add/torchscript/forward/t1/cuda",
                "add/torchscript/forward_backward/t1/cpu",
                "add/torchscript/forward_backward/t1/cuda", "add/cuda_graph/forward/t1/cuda"}));
  EXPECT_EQ(count_variants(both, backends), 5u);
}

// A prepared script may be traced, which needs no text; `torchscript` itself does.
TEST(Expand, PythonHasPreparedScriptsWithoutTorchScript) {
  GroupedBenchmark one = definition("add");
  one.statements = {{.language = Language::kPython, .text = Text{"y = x", {}}}};
  const std::vector<Backend> backends{Backend::kTorchScript, Backend::kFrozen, Backend::kUnfused};
  EXPECT_TRUE(expand({one}, backends)->empty());  // no signature
  one.signature = Signature{{"x"}, "y", {}};
  const auto variants = *expand({one}, backends);
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_HAS(variants[0].key, "/py/frozen/forward/");
  EXPECT_HAS(variants[1].key, "/py/unfused/forward/");
}

// A package is made of the Python, also for C++.
TEST(Expand, PackagesAreMadeOfPythonWithASignature) {
  GroupedBenchmark one = definition("add");
  one.matrix = {{"n", {"4"}}};
  one.statements.push_back({.language = Language::kPython, .text = Text{"y = x + {n}", {}}});
  EXPECT_TRUE(expand({one}, {Backend::kAoti})->empty());
  one.signature = Signature{{"x"}, "y", {}};
  const auto variants = *expand({one}, {Backend::kEager, Backend::kAoti});
  ASSERT_EQ(keys_of(variants),
            (std::vector<std::string>{"add/n=4/eager/forward/t1/cpu", "add/n=4/aoti/forward/t1/cpu",
                                      "add/n=4/py/eager/forward/t1/cpu",
                                      "add/n=4/py/aoti/forward/t1/cpu"}));
  EXPECT_EQ(variants[0].exported, nullptr);
  for (const int aoti : {1, 3}) EXPECT_EQ(variants[aoti].exported->stmt->code, "y = x + 4");
  // The definition's own package runs in both languages, and a C++ statement alone has none.
  one.package = Text{"/a/{n}.pt2", {}};
  const auto given = *expand({one}, {Backend::kAoti});
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[1].package->code, "/a/4.pt2");
  EXPECT_EQ(given[1].exported, nullptr);
  one.package.reset();
  one.statements.pop_back();
  EXPECT_TRUE(expand({one}, {Backend::kAoti})->empty());
}

TEST(Expand, SubstitutesParametersInEveryText) {
  GroupedBenchmark all = definition("x");
  all.description = "d{n}";
  SharedCode& shared = all.in(Language::kCpp);
  shared.global_setups = {Text{"g{n}", {"a.toml", 1, 2}}};
  shared.setups = {{"s{n}", {"a.toml", 3, 4}}, {"t{n}", {}}};
  all.torchscript = Text{"ts{n}", {}};
  shared.module = Text{"m{n}", {}};
  all.matrix = {{"n", {"true"}}};
  const auto variants = value_of(expand({all}));
  const Variant& variant = variants.front();
  EXPECT_EQ(variant.description, "dtrue");
  EXPECT_EQ(variant.global_setups.front().code, "gtrue");
  EXPECT_EQ(variant.setups[0].code, "strue");
  EXPECT_EQ(variant.setups[1].code, "ttrue");
  EXPECT_EQ(variant.stmt->code, "auto y = x + true;");
  EXPECT_EQ(variant.module->code, "mtrue");
  EXPECT_EQ(variant.torchscript->code, "tsTrue");  // Python's spelling
  EXPECT_EQ(variant.setups[0].where, (SourceLocation{"a.toml", 3, 4}));
  EXPECT_EQ(variant.params, (std::vector<std::pair<std::string, std::string>>{{"n", "true"}}));
}

TEST(Expand, SubstitutesTheDeviceIfTheBenchmarkNamesDevices) {
  GroupedBenchmark one = definition("sum");
  one.statements[0].text->code = "x.to(\"{device}\")";
  one.devices = {"cpu", "cuda"};
  one.names_devices = true;
  auto variants = *expand({one});
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].stmt->code, "x.to(\"cpu\")");
  EXPECT_EQ(variants[1].stmt->code, "x.to(\"cuda\")");
  EXPECT_TRUE(variants[1].params.empty());
  one.matrix = {{"device", {"a"}}};
  EXPECT_EQ((*expand({one}))[1].stmt->code, "x.to(\"a\")");
  EXPECT_EQ((*expand({definition("sum")}))[0].stmt->code, "auto y = x + {n};");
  one = definition("sum");
  one.statements[0].text->code = "std::vector<int>{device}";
  EXPECT_EQ((*expand({one}))[0].stmt->code, "std::vector<int>{device}");
}

TEST(Expand, AnOptimizerIsOfTrainedModulesInPython) {
  GroupedBenchmark one = definition("model");
  one.autograd = true;
  one.optimizer = Text{"optim.Adam(params, lr={n})", {}};
  one.statements[0].module = Text{"Net()", {}};
  one.statements.push_back(one.statements[0]);
  one.statements[1].language = Language::kPython;
  one.matrix = {{"n", {"1"}}};
  const auto variants = *expand({one}, {Backend::kEager});
  ASSERT_EQ(variants.size(), 4u);
  EXPECT_EQ(variants[1].key, "model/n=1/eager/forward_backward/t1/cpu");
  EXPECT_EQ(variants[2].key, "model/n=1/py/eager/forward/t1/cpu");
  EXPECT_EQ(variants[3].key, "model/n=1/optimizer=Adam/py/eager/forward_backward/t1/cpu");
  EXPECT_FALSE(variants[1].optimizer);
  EXPECT_FALSE(variants[2].optimizer);
  EXPECT_EQ(variants[3].optimizer->code, "optim.Adam(params, lr=1)");
}

TEST(Expand, TheNameOfAnOptimizerIsThatOfItsClass) {
  EXPECT_EQ(find_optimizer_name("torch.optim.SGD(params, lr=0.01)"), "SGD");
  EXPECT_EQ(find_optimizer_name("Mine([{'params': params}])\n"), "Mine");
  for (const char* text :
       {"", "torch.optim.SGD", "SGD()", "SGD(parameters)", "(params)", "a b(params)"}) {
    EXPECT_FALSE(find_optimizer_name(text)) << text;
  }
}

TEST(Expand, SubstitutesTrainingIfTheBenchmarkIsDifferentiated) {
  GroupedBenchmark one = definition("model");
  one.statements[0].text->code = "model.train({training})";
  one.torchscript = Text{"self.train({training})", {}};
  EXPECT_EQ((*expand({one}))[0].stmt->code, "model.train({training})");
  one.autograd = true;
  const auto variants = *expand({one}, {Backend::kEager, Backend::kFrozen});
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].stmt->code, "model.train(false)");
  EXPECT_EQ(variants[1].autograd, Autograd::kForwardBackward);
  EXPECT_EQ(variants[1].stmt->code, "model.train(true)");
  EXPECT_EQ(variants[1].torchscript->code, "self.train(True)");
  EXPECT_EQ(variants[2].stmt->code, "model.train(false)");  // frozen: without gradients
  EXPECT_TRUE(variants[1].params.empty());
  one.has_train_eval = true;
  EXPECT_EQ(expand({one}, {Backend::kEager})->size(), 2u);  // there is no module
  one.statements[0].module = Text{"Net()", {}};
  const auto with_module = *expand({one}, {Backend::kEager, Backend::kFrozen});
  ASSERT_EQ(with_module.size(), 4u);
  EXPECT_EQ(with_module[2].key, "model/eager/forward_backward_eval/t1/cpu");
  EXPECT_EQ(with_module[2].stmt->code, "model.train(true)");
  one.has_train_eval = false;
  one.statements[0].language = Language::kPython;
  EXPECT_EQ((*expand({one}, {Backend::kEager}))[1].stmt->code, "model.train(True)");
  one.matrix = {{"training", {"a"}}};
  EXPECT_EQ((*expand({one}))[1].stmt->code, "model.train(a)");
}

TEST(Expand, LeavesExplicitBenchmarksAsWritten) {
  GroupedBenchmark all = definition("x");
  all.is_explicit = true;
  all.torchscript = Text{"y = x", {}};
  all.autograd = true;
  all.matrix = {{"n", {"4"}}};
  const auto variants = value_of(expand({all}));
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants.front().key, "x/n=4/eager/forward/t1/cpu");
  EXPECT_EQ(variants.front().stmt->code, "auto y = x + {n};");
}

TEST(Expand, RefusesExplodingMatricesWithoutExpandingThem) {
  GroupedBenchmark huge = definition("huge");
  const std::vector<std::string> ten(10, "1");
  for (int i = 0; i < 30; ++i) huge.matrix.emplace_back("p" + std::to_string(i), ten);
  EXPECT_EQ(count_variants(huge), std::numeric_limits<std::uint64_t>::max());
  huge.matrix.resize(7);
  EXPECT_EQ(count_variants(huge), 10'000'000u);
  GroupedBenchmark also = huge;
  also.label = "also";
  const auto variants = expand({huge, also});
  ASSERT_FALSE(variants);
  ASSERT_EQ(variants.error().size(), 2u);
  EXPECT_EQ(to_string(variants.error()[0]),
            "a.toml:3:1: `huge` makes 10000000 variants, more than the 10000 allowed for one "
            "benchmark: give its matrix fewer values, or split it into several benchmarks");
}

TEST(Expand, AcceptsTheLimitAndRefusesOneMore) {
  GroupedBenchmark max = definition("x");
  max.matrix = {{"n", {}}};
  for (int i = 0; i < 10'000; ++i) max.matrix[0].second.push_back(std::to_string(i));
  EXPECT_TRUE(expand({max}));
  max.matrix[0].second.push_back("more");
  EXPECT_FALSE(expand({max}));
}

TEST(Expand, RefusesTooManyVariantsInAll) {
  GroupedBenchmark many = definition("x");
  many.matrix = {{"n", std::vector<std::string>(10'000, "1")}};
  const auto variants = expand(std::vector<GroupedBenchmark>(11, many));
  ASSERT_FALSE(variants);
  EXPECT_EQ(variants.error()[0].what,
            "the definitions make 110000 variants, more than the 100000 allowed in one run");
}

}  // namespace
}  // namespace instr::expand_test
