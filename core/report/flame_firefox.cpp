// A call tree as a processed profile of Firefox's profiler, of a version that all its later ones
// convert: tables of columns, which refer to each other by the numbers of their rows.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/format.h"
#include "core/base/numbered.h"
#include "core/report/flame.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 47;
constexpr int kFirefoxLibrary = 1;  // the type of such a resource

// Columns of one length.
class FirefoxTable {
 public:
  explicit FirefoxTable(std::size_t rows) : rows_(rows) {}

  FirefoxTable& column(const char* name, Json values) {
    json_[name] = std::move(values);
    return *this;
  }
  // The same value in each row.
  FirefoxTable& all(const char* name, const Json& value) {
    return column(name, Json::array_t(rows_, value));
  }

  Json take() {
    json_["length"] = rows_;
    return std::move(json_);
  }

 private:
  std::size_t rows_;
  Json json_;
};

using Texts = Numbered<std::string>;

Json categories() {
  Json all = Json::array();
  for (const CodeKind& kind : code_kinds()) {
    all.push_back({{"name", kind.name}, {"color", kind.colour}, {"subcategories", {"Other"}}});
  }
  return all;
}

std::size_t category_of(const CodeName& code) {
  const std::string kind = kind_of_code(code);
  std::size_t number = 0;
  while (kind != code_kinds()[number].name) ++number;
  return number;
}

Json meta_of(const std::string& title) {
  return {{"product", "instr_bench"},
          {"importedFrom", printable(title)},
          {"interval", 1},
          {"startTime", 0},
          {"processType", 0},
          {"stackwalk", 1},
          {"debug", false},
          {"version", 27},
          {"preprocessedProfileVersion", kVersion},
          {"symbolicated", true},
          {"categories", categories()},
          {"markerSchema", Json::array()},
          {"abi", ""},
          {"oscpu", ""},
          {"platform", ""},
          {"misc", ""}};
}

Json library_of(const std::string& object) {
  return {{"arch", ""},          {"name", object},   {"path", object},   {"debugName", object},
          {"debugPath", object}, {"breakpadId", ""}, {"codeId", nullptr}};
}

// The functions, each with one frame, and the libraries that they are in.
struct Code {
  Json functions, frames, resources;
  Json libraries = Json::array();
};

Code code_of(const CallTree& tree, Texts& texts) {
  const std::size_t count = tree.functions.size();
  std::map<std::string, std::size_t> resources;
  Json names = Json::array(), resource_names = Json::array(), of_function = Json::array();
  Json kinds = Json::array(), numbers = Json::array();
  Code code;
  for (const CodeName& one : tree.functions) {
    const std::string object = printable(one.object);
    auto [entry, is_new] = resources.try_emplace(object, resources.size());
    if (is_new) {
      resource_names.push_back(texts.number_of(object));
      code.libraries.push_back(library_of(object));
    }
    of_function.push_back(entry->second);
    numbers.push_back(numbers.size());
    names.push_back(texts.number_of(printable(name_of(one))));
    kinds.push_back(category_of(one));
  }
  FirefoxTable functions(count);
  functions.column("name", std::move(names)).column("resource", std::move(of_function));
  functions.all("isJS", false).all("relevantForJS", false).all("fileName", nullptr);
  code.functions = functions.all("lineNumber", nullptr).all("columnNumber", nullptr).take();
  FirefoxTable frames(count);
  frames.column("func", numbers).column("category", std::move(kinds)).all("subcategory", 0);
  frames.all("address", -1).all("inlineDepth", 0).all("nativeSymbol", nullptr);
  frames.all("innerWindowID", 0).all("implementation", nullptr);
  code.frames = frames.all("line", nullptr).all("column", nullptr).take();
  Json libraries = Json::array();
  for (std::size_t i = 0; i < resources.size(); ++i) libraries.push_back(i);
  FirefoxTable table(resources.size());
  table.column("lib", std::move(libraries)).column("name", std::move(resource_names));
  code.resources = table.all("host", nullptr).all("type", kFirefoxLibrary).take();
  return code;
}

// A stack for each node: the way to it.
Json stacks_of(const CallTree& tree, const Json& kinds) {
  Json frames = Json::array(), prefixes = Json::array(), categories = Json::array();
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    frames.push_back(node.function);
    prefixes.push_back(i == 0 ? Json() : Json(node.parent));
    categories.push_back(kinds[node.function]);
  }
  FirefoxTable stacks(tree.nodes.size());
  stacks.column("frame", std::move(frames)).column("prefix", std::move(prefixes));
  return stacks.column("category", std::move(categories)).all("subcategory", 0).take();
}

// One for each node with a cost of its own, which is the weight; an instruction is a millisecond.
Json samples_of(const CallTree& tree) {
  Json stacks = Json::array(), weights = Json::array(), times = Json::array();
  double time = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const double self = tree.per_iteration(tree.nodes[i].self);
    if (self == 0) continue;
    stacks.push_back(i);
    weights.push_back(self);
    times.push_back(time);
    time += self > 0 ? self : 0;
  }
  FirefoxTable samples(stacks.size());
  samples.column("stack", std::move(stacks)).column("time", std::move(times));
  Json json = samples.column("weight", std::move(weights)).all("eventDelay", 0).take();
  json["weightType"] = "samples";
  return json;
}

Json without_rows(std::initializer_list<const char*> columns) {
  FirefoxTable table(0);
  for (const char* column : columns) table.column(column, Json::array());
  return table.take();
}

Json thread_of(const CallTree& tree, const std::string& title, Code code, Texts texts) {
  Json stacks = stacks_of(tree, code.frames["category"]);
  return {{"name", printable(title)},
          {"processName", "instructions of one iteration"},
          {"processType", "default"},
          {"isMainThread", true},
          {"processStartupTime", 0},
          {"processShutdownTime", nullptr},
          {"registerTime", 0},
          {"unregisterTime", nullptr},
          {"pausedRanges", Json::array()},
          {"pid", "0"},
          {"tid", 0},
          {"samples", samples_of(tree)},
          {"stackTable", std::move(stacks)},
          {"frameTable", std::move(code.frames)},
          {"funcTable", std::move(code.functions)},
          {"resourceTable", std::move(code.resources)},
          {"nativeSymbols", without_rows({"libIndex", "address", "name", "functionSize"})},
          {"markers", without_rows({"data", "name", "startTime", "endTime", "phase", "category"})},
          {"stringArray", texts.take()}};
}

}  // namespace

std::string firefox_json(const CallTree& tree, const std::string& title) {
  Texts texts;
  Code code = code_of(tree, texts);
  Json libraries = std::move(code.libraries);
  const Json file{
      {"meta", meta_of(title)},
      {"libs", std::move(libraries)},
      {"pages", Json::array()},
      {"threads", Json::array({thread_of(tree, title, std::move(code), std::move(texts))})}};
  return file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace instr
