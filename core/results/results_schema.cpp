#include "core/base/json_schema.h"
#include "core/results/fingerprint.h"
#include "core/results/results_file.h"

namespace instr {

namespace json_schema {
namespace {

enum class Presence { kAlways, kSometimes };

struct Member {
  std::string name;
  std::string description;
  Json schema;
  Presence presence = Presence::kAlways;
};

// An object with these members; others are allowed.
Json object_of(const std::vector<Member>& members) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Member& member : members) {
    properties[member.name] = described(member.description, member.schema);
    if (member.presence == Presence::kAlways) required.push_back(member.name);
  }
  return {
      {"type", "object"}, {"required", std::move(required)}, {"properties", std::move(properties)}};
}

Json text() { return of_type("string"); }

Json at_least(const char* type, int minimum) { return {{"type", type}, {"minimum", minimum}}; }

Json pair_of(const Json& element) {
  Json pair = list_of(element);
  pair["minItems"] = pair["maxItems"] = 2;
  return pair;
}

// The names of these facts, of languages or backends.
template <class Facts>
Json names_in(const Facts& facts) {
  Json names = Json::array();
  for (const auto& fact : facts) names.push_back(fact.name);
  return {{"enum", std::move(names)}};
}

// The names of the enumerators up to the last one.
template <class Enum>
Json names_up_to(Enum last) {
  Json names = Json::array();
  for (int i = 0; i <= static_cast<int>(last); ++i)
    names.push_back(to_string(static_cast<Enum>(i)));
  return {{"enum", std::move(names)}};
}

Json fingerprint() {
  Json schema = object_of({
      {std::string(kLibraries),
       "The build ids of the libraries that were loaded: [[\"library libc.so.6\", \"ab12...\"], "
       "...].",
       list_of(pair_of(text())), Presence::kSometimes},
      {"machine",
       "Kernel and CPU, for people: counts do not depend on them, and they are not compared.",
       table_of(text()), Presence::kSometimes},
  });
  schema["additionalProperties"] = text();
  return schema;
}

// The checksum, which other outputs of the same lines lack.
Member check() {
  return {"check", "CRC-32 of the line's text without this member, in hexadecimal digits.", text(),
          Presence::kSometimes};
}

Json header() {
  return object_of({
      check(),
      {"schema", "Version of this format. A reader refuses others.", {{"const", kResultsSchema}}},
      {"program", "The program that wrote it.", {{"const", "instr_bench"}}},
      {"version", "Version of that program.", text()},
      {"started", "When it was written, in UTC.", {{"type", "string"}, {"format", "date-time"}}},
      {"command", "The command line.", list_of(text())},
      {"commit",
       "The commit that was measured. Absent if a file of the repository differed "
       "from it, or if a definition or a source that was measured is not in it.",
       text(), Presence::kSometimes},
      {"shard",
       "The shard that these are the results of: [1, 4] is the first of four (--shard=1/4).",
       pair_of(at_least("integer", 1)), Presence::kSometimes},
      {"fingerprint",
       "Everything that may change a count without a change of the measured code, each as text: "
       "results whose fingerprints differ are not compared unless --vary allows it. `timed_...` "
       "are of the worker for timing.",
       fingerprint()},
  });
}

Json metrics() {
  std::vector<Member> members;
  for (const Metric& metric : kMetrics) {
    members.push_back(
        {metric.name, metric.title, of_type({"number", "null"}), Presence::kSometimes});
  }
  return object_of(members);
}

Json times() {
  std::vector<Member> members{
      {"iterations", "Iterations of each repetition.", at_least("integer", 0)},
      {"others", "Cores that other processes used meanwhile, on average.", at_least("number", 0),
       Presence::kSometimes},
  };
  for (const Metric& metric : kMetrics) {
    if (metric.statistic == Statistic::kNone) continue;
    members.push_back(
        {metric.name, metric.title, list_of(at_least("number", 0)), Presence::kSometimes});
  }
  return object_of(members);
}

Json failure() {
  return object_of({{"kind", "The kind of failure.", names_up_to(FailureKind::kUnsupported)},
                    {"message", "The message.", text()}});
}

Json verification() {
  return object_of({{"code", "The verdict.", names_up_to(VerificationCode::kVerifierDidntRun)},
                    {"reason", "The reason; empty if it passed.", text()}});
}

// The members of a measurement with this outcome.
struct OutcomeMembers {
  const char* outcome;
  std::vector<Member> members;
};

std::vector<OutcomeMembers> outcomes() {
  const Member values{"metrics",
                      "Per iteration; instructions are net of the empty loop, times are medians in "
                      "nanoseconds. null is a value that was lost.",
                      metrics()};
  return {
      {"counted",
       {values,
        {"iterations", "Iterations of each block.", at_least("integer", 0)},
        {"warmup", "Iterations before the first block.", at_least("integer", 0)},
        {"steady",
         "Whether the count comes out again, from block to block and, if there is anything to "
         "doubt, in another process.",
         of_type("boolean")},
        {"blocks",
         "Instructions per iteration in two blocks: the last two or, if they differ, the one that "
         "differs most and the last one, which is ir.",
         pair_of(of_type({"number", "null"}))},
        {"gated",
         "Whether limits apply to the counts: not with more than one thread, and not to what "
         "torch.compile() has made.",
         of_type("boolean")}}},
      {"timed",
       {values,
        {"times",
         "One figure per repetition, in the order they ran, nanoseconds where it is a time; and "
         "the iterations of each.",
         times()}}},
      {"verified",
       {values,
        {"verification", "With --verify: whether its results are the same as eager's.",
         verification()}}},
      {"skipped", {{"reason", "Why it was skipped.", text()}}},
      {"failed", {{"failure", "What went wrong.", failure()}}},
  };
}

Json measurement() {
  std::vector<Member> members{
      {"key", "The variant's name everywhere, such as matmul/mm/n=64/eager/forward/t1/cpu.",
       text()},
      {"label", "The definition's label; the first part of the key.", text()},
      {"params", "The parameters of the matrix and their values, as written in C++.",
       table_of(text())},
      {"language", "The language of the snippet; cpp if it is absent.", names_in(kLanguages),
       Presence::kSometimes},
      {"backend", "The backend that ran it.", names_in(kBackends)},
      {"autograd", "Forward only, or also backward.", names_up_to(Autograd::kForwardBackward)},
      {"threads", "The number of LibTorch's threads.", at_least("integer", 1)},
      {"device", "The device on which it ran.", text()},
      {"seconds", "How long measuring took, in seconds.", of_type({"number", "null"})},
      {"profile", "The path of Callgrind's profile, with --keep-profiles.", text(),
       Presence::kSometimes},
      {"changes_state",
       "Whether the statement leaves memory behind in each block, or allocates more in some than "
       "in "
       "others.",
       of_type("boolean"), Presence::kSometimes},
      check(),
      {"limits",
       "The definition's own limits, which apply if these results are a baseline: metric = limit.",
       table_of(text()), Presence::kSometimes},
      {"tags", "The definition's tags.", list_of(text()), Presence::kSometimes},
  };
  Json names = Json::array();
  Json rules = Json::array();
  for (const auto& [outcome, outcome_members] : outcomes()) {
    names.push_back(outcome);
    Json required = Json::array();
    for (Member member : outcome_members) {
      required.push_back(member.name);
      member.presence = Presence::kSometimes;
      members.push_back(std::move(member));
    }
    rules.push_back({{"if", {{"properties", {{"outcome", {{"const", outcome}}}}}}},
                     {"then", {{"required", std::move(required)}}}});
  }
  members.push_back({"outcome",
                     "counted: under Callgrind, and also timed if `times` is present; timed: "
                     "without it; verified: neither.",
                     {{"enum", std::move(names)}}});
  Json schema = object_of(members);
  schema["allOf"] = std::move(rules);
  return schema;
}

Json end() {
  const Json count = object_of(
      {{"measurements", "The number of measurement lines.", at_least("integer", 0)},
       {"not_of_commit",
        "Files that were measured and are not of the commit that the header names, and why not.",
        list_of(text()), Presence::kSometimes}});
  Json schema = object_of({{"end", "The content of the file.", count}});
  schema["additionalProperties"] = false;
  return schema;
}

// The schema of a line that has this member, or else `otherwise`.
Json by_member(const char* name, const Json& schema, const Json& otherwise) {
  return {{"if", {{"required", Json::array({name})}}}, {"then", schema}, {"else", otherwise}};
}

// The schema of any line.
Json line() {
  const Json measurements =
      described("One variant of a benchmark, and its outcome.", measurement());
  return by_member(
      "schema", described("The first line.", header()),
      by_member("end", described("The last line of complete results.", end()), measurements));
}

}  // namespace
}  // namespace json_schema

nlohmann::ordered_json results_schema() {
  return json_schema::document(
      "instr_bench results",
      "A line of a results file (--output, --save, --format=jsonl), which is JSON Lines: a header, "
      "a line per measurement and, once all are there, an end. A file without the end is from a "
      "run that did not finish. Members that are not described here are from other versions: "
      "readers ignore them.",
      json_schema::line());
}

}  // namespace instr
