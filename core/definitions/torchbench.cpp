#include "core/definitions/torchbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

#include "core/base/read_file.h"
#include "core/base/yaml.h"
#include "core/definitions/declarations.h"
#include "core/definitions/expand.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// The settings of PyTorch's own runner, which not every checkout has.
constexpr const char* kRunnerSettings = "userbenchmark/dynamo/dynamobench/torchbench.yaml";

fs::path models_of(const fs::path& checkout) { return checkout / "torchbenchmark" / "models"; }

// Returns null if the file cannot be read.
Json read_yaml(const fs::path& file) {
  const auto text = read_file(file, kMaxTextBytes);
  return text ? parse_simple_yaml(*text) : Json();
}

void add_names(const Json& list, std::set<std::string>& names) {
  for (const Json& each : list) {
    if (each.is_string()) names.insert(each.get<std::string>());
    if (each.is_array()) add_names(each, names);
  }
}

// Returns true if the list at a path such as "/skip/all", or a list in it, has the name.
bool is_listed_at(const Json& yaml, const char* path, const std::string& name) {
  const Json::json_pointer pointer(path);
  if (!yaml.contains(pointer) || !yaml.at(pointer).is_array()) return false;
  std::set<std::string> names;
  add_names(yaml.at(pointer), names);
  return names.contains(name);
}

// Returns the tests that the model's metadata excludes. Entries about anything else, such as
// `jit: true`, do not concern us.
std::vector<SkippedTest> read_not_implemented(const Json& metadata) {
  std::vector<SkippedTest> skipped;
  if (!metadata.is_object() || !metadata.contains("not_implemented")) return skipped;
  for (const Json& entry : metadata["not_implemented"]) {
    SkippedTest test;
    bool is_ours = entry.is_object() && !entry.empty();
    for (const auto& [name, value] : entry.items()) {
      const bool is_known = value.is_string() && (name == "test" || name == "device");
      is_ours = is_ours && is_known;
      if (is_known) (name == "test" ? test.test : test.device) = value.get<std::string>();
    }
    if (!is_ours) continue;
    test.reason = fmt::format("its metadata.yaml lists it as not implemented{}{}",
                              test.test.empty() ? "" : " for " + test.test,
                              test.device.empty() ? "" : " on " + test.device);
    skipped.push_back(std::move(test));
  }
  return skipped;
}

void add_skipped_by_runner(const Json& settings, const std::string& model,
                           std::vector<SkippedTest>& skipped) {
  const SkippedTest all[] = {{"", "", "/skip/all"},
                             {"", "cpu", "/skip/device/cpu"},
                             {"", "cuda", "/skip/device/cuda"},
                             {"train", "", "/skip/test/training"}};
  for (const auto& [test, device, path] : all) {
    if (!is_listed_at(settings, path.c_str(), model)) continue;
    skipped.push_back(
        {test, device, fmt::format("PyTorch's torchbench.yaml lists it in {}", path)});
  }
}

// As in PyTorch's runner.
double find_tolerance_on_cuda(const Json& settings, const std::string& model) {
  return is_listed_at(settings, "/tolerance/even_higher", model) ? 8e-2 : 1e-3;
}

Expected<std::vector<std::string>> list_models(const fs::path& checkout) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(models_of(checkout), error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (is_identifier(name) && fs::exists(entry.path() / "__init__.py", ignored)) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  if (!error && !names.empty()) return names;
  return fail_at(SourceLocation{models_of(checkout).string()},
                 error ? "this folder cannot be read: " + error.message()
                       : "no model (a folder with an __init__.py) in this folder",
                 "name a complete checkout of github.com/pytorch/benchmark");
}

}  // namespace

Expected<void> check_torchbench(const fs::path& checkout) {
  std::error_code ignored;
  if (fs::is_directory(models_of(checkout), ignored)) return {};
  return fail_at(SourceLocation{checkout.string()},
                 "there is no folder torchbenchmark/models in it",
                 "name a checkout of github.com/pytorch/benchmark");
}

Expected<std::vector<GroupedBenchmark>> list_torchbench(const GroupedBenchmark& any_model,
                                                        const fs::path& checkout,
                                                        const std::vector<int>& batch_sizes) {
  TRY_ASSIGN(const auto names, list_models(checkout));
  const Json settings = read_yaml(checkout / kRunnerSettings);
  std::vector<GroupedBenchmark> benchmarks;
  for (const std::string& name : names) {
    GroupedBenchmark& model = benchmarks.emplace_back(any_model);
    model.label += "/" + name;
    std::vector<std::pair<std::string, std::string>> given{
        {"torchbench", to_python_literal(fs::absolute(checkout).lexically_normal().string())},
        {"model", name}};
    if (batch_sizes.empty() || is_listed_at(settings, "/dont_change_batch_size", name)) {
      given.emplace_back("batch_size", "None");
    } else {
      auto& values = model.matrix.emplace_back("batch_size", std::vector<std::string>{}).second;
      for (const int size : batch_sizes) values.push_back(std::to_string(size));
    }
    for (Text& setup : model.in(Language::kPython).setups) {
      setup.code = substitute(setup.code, given);
    }
    model.skipped_tests =
        read_not_implemented(read_yaml(models_of(checkout) / name / "metadata.yaml"));
    add_skipped_by_runner(settings, name, model.skipped_tests);
    model.rmse_of_training_on_cuda = find_tolerance_on_cuda(settings, name);
  }
  return benchmarks;
}

}  // namespace instr
