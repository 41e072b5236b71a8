// The axes of experiments: how they multiply definitions, and how values are left out.
#include "core/definitions/axes.h"

#include "core/definitions/expand.h"
#include "tests/testing.h"

namespace instr::axes_test {
namespace {

using namespace testing;

GroupedBenchmark definition(const std::string& label) {
  GroupedBenchmark made;
  made.label = label;
  made.where.file = "some/suite.toml";
  made.statements = {{.text = Text{"f({batch_size});", {}}}};
  return made;
}

TEST(ExperimentAxes, ReplaceTheDefinitionsOwn) {
  GroupedBenchmark one = definition("one");
  one.matrix = {{"batch_size", {"1", "2"}}};
  GroupedBenchmark other = definition("other");
  other.matrix = {{"dtype", {"Int64"}}};
  auto variants =
      value_of(expand(apply_axes({one, other}, {{"float32", "float64"}, {8}, {1, 2}, {}})));
  EXPECT_EQ(keys_of(variants),
            (std::vector<std::string>{"one/batch_size=8/dtype=float32/eager/forward/t1/cpu",
                                      "one/batch_size=8/dtype=float32/eager/forward/t2/cpu",
                                      "one/batch_size=8/dtype=float64/eager/forward/t1/cpu",
                                      "one/batch_size=8/dtype=float64/eager/forward/t2/cpu",
                                      "other/dtype=Int64/eager/forward/t1/cpu",
                                      "other/dtype=Int64/eager/forward/t2/cpu"}));
  EXPECT_EQ(variants[0].stmt->code, "f(8);");
  EXPECT_EQ(find_default_type(variants[2]), "float64");
  EXPECT_EQ(find_default_type(variants[4]),
            "float32");  // its own parameter is not one of LibTorch's types
}

TEST(ExperimentAxes, OnlyCompilingLeavesBackendsThatCompileAndNamesTheirVariants) {
  GroupedBenchmark calls = definition("calls");
  calls.statements[0].language = Language::kPython;
  calls.signature = Signature{{"x"}, "y", {}};
  GroupedBenchmark compiles = calls;
  compiles.label = "compiles";
  compiles.signature.reset();
  compiles.compiles = true;
  const auto variants =
      value_of(expand(apply_axes({definition("native"), calls, compiles}, {.only_compiling = true}),
                      {Backend::kEager, Backend::kInductor}));
  for (const Variant& variant : variants) EXPECT_TRUE(variant.compiles) << variant.key;
  EXPECT_EQ(keys_of(variants),
            (std::vector<std::string>{"calls/compile=cold/py/inductor/forward/t1/cpu",
                                      "compiles/py/eager/forward/t1/cpu"}));
}

TEST(ExperimentAxes, ParametersHaveOtherValues) {
  GroupedBenchmark one = definition("one");
  one.matrix = {{"n", {"20"}}, {"kind", {"a", "b"}}};
  const ExperimentAxes axes{.parameters = {{"n", {"1000", "x"}}}};
  const std::vector<GroupedBenchmark> definitions{one, definition("other")};
  EXPECT_TRUE(check_parameters(definitions, axes));
  EXPECT_EQ(keys_of(value_of(expand(apply_axes(definitions, axes)))),
            (std::vector<std::string>{
                "one/n=1000/kind=a/eager/forward/t1/cpu", "one/n=1000/kind=b/eager/forward/t1/cpu",
                "one/n=x/kind=a/eager/forward/t1/cpu", "one/n=x/kind=b/eager/forward/t1/cpu",
                "other/eager/forward/t1/cpu"}));
  EXPECT_EQ(error_text(check_parameters(definitions, {.parameters = {{"kinds", {"c"}}}})),
            "no benchmark has a parameter `kinds`: did you mean `kind`?");
}

TEST(ExperimentAxes, AutocastIsNotForExplicitDefinitions) {
  GroupedBenchmark plain = definition("plain");
  GroupedBenchmark fixed = definition("fixed");
  fixed.is_explicit = true;
  auto made = apply_axes({plain, fixed}, {.data_types = {"amp", "float64"}});
  auto variants = value_of(expand(made));
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].key, "plain/dtype=amp/eager/forward/t1/cpu");
  EXPECT_TRUE(is_autocast(variants[0]));
  EXPECT_EQ(find_default_type(variants[0]), "float32");
  EXPECT_FALSE(is_autocast(variants[1]));
  EXPECT_EQ(variants[2].key, "fixed/dtype=float64/eager/forward/t1/cpu");
  EXPECT_TRUE(expand(apply_axes({fixed}, {.data_types = {"amp"}}))->empty());
}

TEST(ExperimentAxes, DevicesAreForDefinitionsThatNameThem) {
  GroupedBenchmark fixed = definition("fixed");
  GroupedBenchmark any = definition("any");
  any.names_devices = true;
  auto made = apply_axes({fixed, any}, {{}, {}, {}, {"cpu", "cuda"}});
  EXPECT_EQ(made[0].devices, std::vector<std::string>{"cpu"});
  EXPECT_EQ(made[1].devices, (std::vector<std::string>{"cpu", "cuda"}));
}

TEST(ExperimentAxes, DynamicShapesAreForCompilersAndTheirEager) {
  GroupedBenchmark compiled = definition("compiled");
  compiled.statements[0].language = Language::kPython;
  compiled.signature = Signature{{"x"}, "y", {}};
  compiled.torchscript = compiled.statements[0].text;
  const GroupedBenchmark plain = definition("plain");
  const std::vector<Backend> backends{Backend::kEager, Backend::kTorchScript, Backend::kInductor};
  const std::string end = "/forward/t1/cpu";
  auto both = apply_axes({compiled, plain}, {.shapes = {"static", "dynamic"}});
  auto variants = value_of(expand(both, backends));
  EXPECT_EQ(keys_of(variants),
            (std::vector<std::string>{
                "compiled/py/eager" + end, "compiled/py/torchscript" + end,
                "compiled/py/inductor" + end, "compiled/shapes=dynamic/py/eager" + end,
                "compiled/shapes=dynamic/py/inductor" + end, "plain/eager" + end}));
  EXPECT_EQ(count_variants(both[0], backends), 5u);
  for (const Variant& variant : variants) {
    const bool is_dynamic = variant.key.find("dynamic") != std::string::npos;
    EXPECT_EQ(has_dynamic_shapes(variant), is_dynamic) << variant.key;
    EXPECT_EQ(has_dynamic_shapes(parse_key(variant.key)), is_dynamic) << variant.key;
    EXPECT_EQ(find_axis_value("shapes", variant), is_dynamic ? "dynamic" : "static");
  }
  auto only = expand(apply_axes({compiled, plain}, {.shapes = {"dynamic"}}), backends);
  EXPECT_EQ(keys_of(*only),
            (std::vector<std::string>{"compiled/shapes=dynamic/py/eager" + end,
                                      "compiled/shapes=dynamic/py/inductor" + end}));
}

TEST(ExperimentAxes, AMemoryFormatIsOfPythonWithArguments) {
  GroupedBenchmark both = definition("both");
  both.statements.push_back({Language::kPython, "", Text{"y = x", {}}});
  EXPECT_EQ(keys_of(*expand(apply_axes({both}, {.memory_formats = {"channels_last"}}))),
            (std::vector<std::string>{}));
  both.signature = Signature{{"x"}, "y", {}};
  const auto variants = *expand(
      apply_axes({both}, {.memory_formats = {"contiguous", "channels_last"}}), {Backend::kEager});
  EXPECT_EQ(keys_of(variants),
            (std::vector<std::string>{"both/eager/forward/t1/cpu", "both/py/eager/forward/t1/cpu",
                                      "both/memory_format=channels_last/py/eager/forward/t1/cpu"}));
  EXPECT_EQ(find_axis_value("memory_format", variants[1]), "contiguous");
  EXPECT_EQ(find_axis_value("memory_format", parse_key(variants[2].key)), "channels_last");
}

TEST(ExperimentAxes, VariantsWithALeftOutValueAreRemoved) {
  const std::vector<std::string> all{
      "a/batch_size=4/dtype=float64/eager/forward/t1/cpu",
      "a/batch_size=8/dtype=amp/frozen/forward/t2/cpu",
      "a/shapes=dynamic/py/inductor/forward_backward_eval/t1/cuda",
  };
  std::vector<Variant> variants;
  for (const std::string& key : all) variants.push_back(parse_key(key));
  const auto left = [&variants](const std::vector<AxisValue>& values) {
    return keys_of(leave_out(variants, values).value_or(std::vector<Variant>{}));
  };
  const std::vector<std::string> first{all[0]};
  const std::vector<std::string> second{all[1]};
  const std::vector<std::string> third{all[2]};
  EXPECT_EQ(left({}), all);
  EXPECT_EQ(left({{"backend", "frozen"}, {"backend", "inductor"}}), first);
  EXPECT_EQ(left({{"test", "train_eval"}, {"dtype", "float64"}}), second);
  EXPECT_EQ(left({{"test", "train"}}), all);
  EXPECT_EQ(left({{"device", "cpu"}}), third);
  EXPECT_EQ(left({{"threads", "1"}}), second);
  EXPECT_EQ(left({{"shapes", "static"}}), third);
  EXPECT_EQ(left({{"batch_size", "4"}, {"batch_size", "8"}}), third);
  EXPECT_EQ(left({{"dtype", "float32"}}), (std::vector<std::string>{all[0], all[1]}));
  EXPECT_FALSE(leave_out(variants, {{"device", "cpu"}, {"device", "cuda"}}));
  EXPECT_TRUE(leave_out({}, {{"device", "cpu"}}));
  EXPECT_FALSE(check_left_out({"backend", "eager"}));
  EXPECT_TRUE(check_left_out({"backend", "frozen"}));
}

}  // namespace
}  // namespace instr::axes_test
