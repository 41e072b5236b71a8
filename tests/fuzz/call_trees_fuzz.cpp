// The call trees beside a results file: what is read is written again as it was, and two of them
// are compared.
#include "core/base/gzip.h"
#include "core/report/flame.h"
#include "core/results/call_trees_file.h"
#include "tests/fuzz/fuzz.h"

namespace instr {
namespace {

void fuzz(std::string_view text) {
  const std::string header = R"({"schema":1})";
  const std::string start = SideLines::start(kCallTreesFile, header);
  const CallTreesOf trees = parse_call_trees(gzip_member(start + std::string(text)).value(), header,
                                             "r.call_trees.jsonl.gz", Incomplete::kAllowed);
  std::vector<std::shared_ptr<const CallTree>> found;
  for (const char* key : {"k", "l"}) {
    auto tree = trees(key);
    if (!tree) return require_words(tree.error());
    if (!*tree) continue;
    SideLines lines;
    const std::string again = start + next_call_tree(lines, key, **tree);
    auto same =
        parse_call_trees(gzip_member(again).value(), header, "again", Incomplete::kAllowed)(key);
    require(same && *same && (*same)->nodes.size() == (*tree)->nodes.size() &&
                (*same)->nodes[0].total == (*tree)->nodes[0].total,
            "what is written is read as it was");
    found.push_back(*tree);
  }
  if (found.size() < 2) return;
  const AlignedTrees both = aligned(*found[0], *found[1]);
  require(flame_page(both, "k").find("\"before\"") != std::string::npos,
          "a page of two trees has both");
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
