#include "core/definitions/tests.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/read_file.h"

namespace instr {

namespace {

// "tests/test_file.py::Class::test_name[a::b]" -> "pytest/tests/test_file.py/Class/test_name[a::b]"
std::string make_key(const std::string& test) {
  std::string key = "pytest/" + test;
  for (std::size_t at = 0; (at = key.find("::", at)) < key.find('[');) key.replace(at, 2, "/");
  return key;
}

}  // namespace

Expected<std::vector<Variant>> load_tests(const fs::path& file) {
  TRY_ASSIGN(const std::string text, read_file(file, kMaxTextBytes));
  auto malformed = [&file] {
    return fail_at(file, "this is not a list of tests", "let `pytest --instr` write it");
  };
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return malformed();
  const auto suite = std::make_shared<TestSuite>();
  std::vector<Variant> variants;
  try {
    suite->file = file;
    suite->root = json->at("root").get<std::string>();
    for (const auto& test : json->at("tests")) {
      Variant& variant = variants.emplace_back();
      variant.language = Language::kPython;
      variant.tests = suite;
      variant.test = test.at("id");
      variant.key = variant.label = make_key(variant.test);
      if (test.at("is_first_call").get<bool>()) variant.warmup = 0;
    }
  } catch (const nlohmann::json::exception&) {
    return malformed();
  }
  return variants;
}

}  // namespace instr
