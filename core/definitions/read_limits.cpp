#include "core/definitions/read_limits.h"

namespace instr {

std::map<std::string, Limit> read_limits(const toml::table& table, std::string_view title,
                                         const SourceText& source, Errors& errors) {
  std::map<std::string, Limit> limits;
  const TableReader read(table, title, limit_keys(), source, errors);
  for (const std::string& metric : names_of(limit_keys())) {
    const std::optional<Text> text = read.text(metric);
    if (!text) continue;
    if (auto limit = parse_limit(text->code)) {
      limits.emplace(metric, *limit);
    } else {
      read.add_error(text->where, std::move(limit.error().what), std::move(limit.error().advice));
    }
  }
  return limits;
}

}  // namespace instr
