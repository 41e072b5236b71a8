#include "core/compile/python/compile_python.h"

#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/compile/cache.h"
#include "core/compile/python/generate_python.h"
#include "worker/abi.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCompiler = "compile_snippets.py";
constexpr const char* kErrors = "errors.json";  // a file beside a unit: errors by symbol

Json list_codes(const std::vector<Text>& texts) {
  Json list = Json::array();
  for (const Text& text : texts) list.push_back(text.code);
  return list;
}

std::string format_request(const std::map<std::string, PythonSnippet>& snippets) {
  Json request = Json::array();
  const auto add = [&request](const std::string& symbol, const PythonSnippet& snippet) {
    request.push_back({{"symbol", symbol},
                       {"purpose", snippet.purpose == Purpose::kMeasure ? "measure" : "verify"},
                       {"module", list_codes(snippet.module)},
                       {"setup", list_codes(snippet.setup)},
                       {"statement", list_codes(snippet.statement)}});
  };
  add(INSTR_EMPTY_SNIPPET, {});
  for (const auto& [symbol, snippet] : snippets) add(symbol, snippet);
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<std::string> run_compiler(const std::string& request, const Python& python,
                                   const fs::path& sources, std::stop_token stop) {
  Fd input = open_input(request);
  SpawnOptions spawn;
  spawn.argv = {python.program.string(), "-I", "-S", python_script(sources, kCompiler).string()};
  spawn.environment = std::vector<std::string>{"LC_ALL=C.UTF-8", "PYTHONHASHSEED=0"};
  spawn.descriptors = {{input.get(), STDIN_FILENO}};
  TRY_ASSIGN(auto result, run_command(spawn, stop));
  if (result.exit_code == 0) return result.output;
  return fail(python.command.string() + " cannot compile snippets:\n" + result.errors,
              kPythonAdvice);
}

// Writes the unit and, beside it, the errors.
Expected<void> write_unit(const std::string& reply, const fs::path& unit) {
  const auto json = parse_json(reply);
  if (!json || !json->is_array()) return fail("the interpreter's reply is malformed");
  std::string lines;
  Json errors = Json::object();
  for (const Json& snippet : *json) {
    const std::string symbol = snippet.value("symbol", "");
    if (snippet.contains("code")) {
      lines += symbol + "\t" + snippet.value("code", "") + "\n";
    } else {
      errors[symbol] = snippet;
    }
  }
  TRY(write_text(unit, lines));
  return write_text(unit.parent_path() / kErrors, errors.dump());
}

std::string format_error(const Json& error, const Variant& variant, const PythonSnippet& snippet) {
  auto place = find_place_in_python(snippet, error.value("line", 0), error.value("column", 0));
  const std::string what = error.value("message", "does not compile");
  return to_string(Error{place.value_or(variant.where), what + " [in " + variant.key + "]", ""});
}

}  // namespace

Expected<UnitResult> compile_python(const std::vector<Variant>& variants, const Python& python,
                                    const fs::path& sources, Cache& cache, Purpose purpose,
                                    std::stop_token stop) {
  UnitResult result;
  if (variants.empty()) return result;
  std::map<std::string, PythonSnippet> snippets;
  std::vector<std::string> symbols;
  for (const Variant& variant : variants) {
    PythonSnippet snippet = make_python_snippet(variant, purpose);
    symbols.push_back(make_python_symbol(snippet));
    snippets.emplace(symbols.back(), std::move(snippet));
  }
  const std::string request = format_request(snippets);
  const std::string compiler = read_text(python_script(sources, kCompiler)).value_or("");
  TRY_ASSIGN(
      auto unit,
      cache.get("python-unit-" + content_hash(python.version + "\n" + compiler + "\n" + request) +
                    "/unit",
                [&](const fs::path& to) {
                  return run_compiler(request, python, sources, stop)
                      .and_then([&](const std::string& reply) { return write_unit(reply, to); });
                }));
  const Json errors =
      parse_json(read_text(unit.parent_path() / kErrors).value_or("{}")).value_or(Json::object());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto error = errors.find(symbols[i]);
    if (error == errors.end()) {
      result.compiled.push_back({variants[i], unit, symbols[i]});
    } else {
      result.failed.push_back(make_compile_failure(
          variants[i], format_error(*error, variants[i], snippets.at(symbols[i]))));
    }
  }
  return result;
}

}  // namespace instr
