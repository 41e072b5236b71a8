// The costs of lines beside a results file: what is read is written again as it was, and two of
// them are compared.
#include "core/base/gzip.h"
#include "core/compare/compare_table.h"
#include "core/results/lines_file.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz(std::string_view text) {
  const std::string header = R"({"schema":1})";
  const std::string start = SideLines::start(kLinesFile, header);
  const LinesOf costs = parse_lines(gzip_member(start + std::string(text)).value(), header,
                                    "r.lines.jsonl.gz", Incomplete::kAllowed);
  std::vector<std::shared_ptr<const LineCosts>> found;
  for (const char* key : {"k", "l"}) {
    auto one = costs(key);
    if (!one) return require_words(one.error());
    if (!*one) continue;
    SideLines lines;
    const std::string again = start + next_lines(lines, key, **one);
    auto same = parse_lines(gzip_member(again).value(), header, "again", Incomplete::kAllowed)(key);
    require(same && *same && (*same)->lines.size() == (*one)->lines.size(),
            "what is written is read as it was");
    found.push_back(*one);
  }
  if (found.size() < 2) return;
  const LineChanges changes = line_changes(*found[0], *found[1], 0);
  require(!lines_text(changes, 80).empty(), "changes have a heading");
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
