#include "core/base/output.h"
#include "core/commands/history.h"
#include "core/history/history_report.h"
#include "core/history/read_runs.h"
#include "core/history/schema.h"

namespace instr {

ExitStatus history_export(const HistoryOptions& options) {
  if (options.format == ReportFormat::kMarkdown) {
    return refuse({{}, "`history export` is for programs", "write --format=csv or --format=jsonl"});
  }
  const auto format =
      options.format == ReportFormat::kJsonl ? ReportFormat::kJsonl : ReportFormat::kCsv;
  auto database = open_history(options.recording.file(), SqlAccess::kRead);
  if (!database) return refuse(database.error());
  const auto print = [format](const Listing& listing) {
    return print_output(listing_text(listing, format, 0, false));
  };
  print(points_listing());
  auto exported = for_each_point(*database, options.choice(), [&](const HistoryPoint& point) {
    Listing listing = points_listing(point);
    listing.has_head = false;
    return print(listing);
  });
  return exported ? kGood : refuse(exported.error());
}

}  // namespace instr
