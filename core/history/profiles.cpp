#include "core/history/profiles.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/base/gzip.h"
#include "core/base/json_line.h"
#include "core/results/results.h"

namespace instr {

namespace {

constexpr std::size_t kMostBytes = std::size_t{128} << 20;

}  // namespace

Profiles::Profiles(const SqlDatabase& database)
    : database_(database),
      names_(database, "SELECT id FROM functions WHERE name = ? AND library = ?",
             "INSERT INTO functions (name, library) VALUES (?, ?)"),
      name_of_(database.prepare("SELECT name, library FROM functions WHERE id = ?")),
      write_(database.prepare("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?)")),
      copy_(database.prepare("INSERT OR REPLACE INTO profiles SELECT series_id, ?3, functions"
                             " FROM profiles WHERE series_id = ?1 AND commit_id = ?2")),
      remove_(database.prepare("DELETE FROM profiles WHERE series_id = ? AND commit_id = ?")),
      read_(database.prepare(
          "SELECT functions FROM profiles WHERE series_id = ? AND commit_id = ?")) {}

void Profiles::write(std::int64_t series, std::int64_t commit,
                     const std::vector<FunctionCost>& functions) {
  remove(series, commit);
  if (functions.empty()) return;
  auto json = nlohmann::ordered_json::array();
  for (const FunctionCost& one : functions) {
    json.push_back(
        {names_.number_of(one.function, one.object), json_number(one.ir), json_number(one.calls)});
  }
  auto packed = gzip_member(to_line(json));
  if (!packed) throw SqlError{packed.error()};
  write_.run(series, commit, SqlBlob{*packed});
}

void Profiles::copy(std::int64_t series, std::int64_t from_commit, std::int64_t to_commit) {
  copy_.run(series, from_commit, to_commit);
}

void Profiles::remove(std::int64_t series, std::int64_t commit) { remove_.run(series, commit); }

std::vector<Profiles::Cost> Profiles::unpacked(const std::string& bytes) const {
  auto text = gunzip_member(bytes, 0, kMostBytes);
  auto json = text ? parse_json(text->text) : tl::unexpected(text.error());
  if (!json || !json->is_array()) throw damaged();
  std::vector<Cost> costs;
  for (const auto& cost : *json) {
    const bool is_cost = cost.is_array() && cost.size() >= 3 && cost[0].is_number_integer() &&
                         cost[1].is_number() && cost[2].is_number();
    if (!is_cost) throw damaged();
    costs.push_back({cost[0], cost[1], cost[2]});
  }
  return costs;
}

SqlError Profiles::damaged() const {
  return {{{database_.file().string()},
           "the functions of a step are damaged",
           "restore a copy of the history"}};
}

std::vector<FunctionCost> Profiles::read(std::int64_t series, std::int64_t commit) {
  if (!read_.start(series, commit).step()) return {};
  std::vector<FunctionCost> functions;
  for (const Cost& cost : unpacked(read_.text(0))) {
    if (!name_of_.start(cost.name).step()) throw damaged();
    functions.push_back({name_of_.text(0), name_of_.text(1), cost.ir, cost.calls});
  }
  return functions;
}

void Profiles::remove_unused_names() {
  std::unordered_set<std::int64_t> used;
  auto profiles = database_.prepare("SELECT functions FROM profiles");
  while (profiles.step()) {
    for (const Cost& cost : unpacked(profiles.text(0))) used.insert(cost.name);
  }
  std::vector<std::int64_t> unused;
  auto names = database_.prepare("SELECT id FROM functions");
  while (names.step()) {
    if (!used.contains(names.integer(0))) unused.push_back(names.integer(0));
  }
  auto remove = database_.prepare("DELETE FROM functions WHERE id = ?");
  for (const auto one : unused) remove.run(one);
}

}  // namespace instr
