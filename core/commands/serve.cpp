#include <poll.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/output.h"
#include "core/base/private_folder.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/commands/commands.h"
#include "core/report/explain.h"
#include "core/results/results_file.h"
#include "core/run/pipeline.h"
#include "core/run/session.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// Requests a stop once the reader of standard output has gone: a program that was killed waits for
// no reply.
std::jthread watch_reader(std::stop_source& ending) {
  return std::jthread([&ending](const std::stop_token& stop) {
    constexpr int kLookEvery = 100;  // milliseconds
    pollfd reader{STDOUT_FILENO, 0, 0};
    while (!stop.stop_requested()) {
      if (::poll(&reader, 1, kLookEvery) > 0 && (reader.revents & POLLERR) != 0) {
        ending.request_stop();
        return;
      }
    }
  });
}

// Reads lines from standard input until its end, or until a stop is requested.
class RequestLines {
 public:
  std::optional<std::string> next(const std::stop_token& stop) {
    constexpr int kLookEvery = 100;  // milliseconds
    for (;;) {
      if (const auto end = text_.find('\n'); end != std::string::npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      pollfd input{STDIN_FILENO, POLLIN, 0};
      while (::poll(&input, 1, kLookEvery) <= 0) {
        if (stop.stop_requested()) return std::nullopt;
      }
      std::array<char, 65536> bytes{};
      const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (size <= 0 || stop.stop_requested()) return std::nullopt;
      text_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  std::string text_;
};

struct ServeArguments {
  MeasureConfig measure;
  // Definitions come with each request; declare_measuring() sets the rest.
  PlanConfig plan;
  Showing showing;
};

// The lines about one measurement: its own, and those of its functions.
Expected<std::string> format_measurement(const Measurement& measurement) {
  std::string lines = to_line(to_json(measurement)) + "\n";
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr || !counted->profile) return lines;
  TRY_ASSIGN(const auto explanation,
             explain_profile(measurement.variant.key, *counted, ProfilePaths::kMerged));
  return lines + explain_report(ReportFormat::kJsonl, explanation, {});
}

std::string format_errors(const Errors& errors) {
  Json texts = Json::array();
  for (const Error& error : errors) texts.push_back(to_string(error));
  return to_line({{"errors", texts}}) + "\n";
}

// Counts what one request names; the text is the reply. `taken`: filled by the session.
tl::expected<std::string, Errors> reply_to(const std::string& request, PlanConfig plan_config,
                                           Session& session, std::vector<Measurement>& taken,
                                           const std::stop_token& stop) {
  TRY_ASSIGN(const auto json, parse_json(request));
  const auto file = json.find("definitions");
  if (file == json.end() || !file->is_string()) {
    return tl::unexpected<Errors>(Error{{}, "a request has no text `definitions`", ""});
  }
  plan_config.definitions = {file->get<std::string>()};
  TRY_ASSIGN(const auto variants, plan(plan_config));
  TRY_ASSIGN(const bool is_finished, session.count(session.admit(variants), stop));
  if (!is_finished) return std::string();
  std::string reply;
  for (const Measurement& measurement : taken) {
    TRY_ASSIGN(const auto lines, format_measurement(measurement));
    reply += lines;
  }
  return reply + end_line(taken.size()) + "\n";
}

void remove_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    fs::remove(entry.path(), ignored);
  }
}

ExpectedStatus run_serve(ServeArguments options, std::stop_token interrupted) {
  TRY_ASSIGN(const auto profiles, PrivateFolder::make());
  options.measure.wants_functions = true;
  // Not the folder itself, which also holds the file by which it is known to be in use.
  const fs::path kept = profiles.path() / "kept";
  options.measure.keep_profiles = kept;
  std::stop_source ending;
  const std::stop_callback pass_on(interrupted, [&ending] { ending.request_stop(); });
  const std::jthread watcher = watch_reader(ending);
  Progress progress(progress_options(options.showing));
  std::vector<Measurement> taken;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& measurement) {
    progress.finished(measurement);
    taken.push_back(measurement);
  };
  TRY_ASSIGN(auto session, Session::open(options.measure, events, ending.get_token()));
  RequestLines lines;
  while (const auto line = lines.next(ending.get_token())) {
    taken.clear();
    remove_files(kept);
    const auto reply = reply_to(*line, options.plan, *session, taken, ending.get_token());
    if (ending.stop_requested()) break;
    const std::string text = reply ? *reply : format_errors(reply.error());
    if (!progress.print(STDOUT_FILENO, text)) break;
  }
  return kGood;
}

}  // namespace

Action serve_command(CommandLine& line) {
  auto options = std::make_shared<ServeArguments>();
  line.describe(
      "Keeps LibTorch warm under Callgrind and counts what another program asks for, as "
      "instr_bench.Timer does. Each line of standard input is a request, "
      "{\"definitions\": FILE}. The reply on standard output is a line of a results file for each "
      "variant, followed by those of explain --format=jsonl, and the line {\"end\":...}; or "
      "{\"errors\":[...]}. Ends with its standard input, or when nobody reads the replies.");
  line.group("How to measure");
  declare_measuring(line, options->plan, options->measure);
  line.group("What to show");
  declare_showing(line, options->showing);
  return [options](const Invocation& invocation) { return run_serve(*options, invocation.stop); };
}

}  // namespace instr
