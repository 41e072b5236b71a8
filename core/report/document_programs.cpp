// Documents for programs: JSON, JSON Lines and CSV.
#include "core/base/csv.h"
#include "core/report/formats.h"

namespace instr {

// The records are text already: as JSON values they would take several times the memory.
std::string render_json(const Document& document, const RenderOptions&) {
  std::string out;
  if (document.list_name != nullptr) {
    for (const std::string& object : {document.head, document.summary}) {
      if (object.size() > 2) out += object.substr(1, object.size() - 2) + ",";
    }
    out = "{" + out + "\"" + document.list_name + "\":";
  }
  const char* between = "[\n";
  for (const DocumentRecord& record : document.records) {
    out += between + record.json;
    between = ",\n";
  }
  out += document.records.empty() ? "[]" : "\n]";
  return out + (document.list_name == nullptr ? "\n" : "}\n");
}

std::string render_jsonl(const Document& document, const RenderOptions&) {
  std::string out;
  if (!document.head.empty()) out += document.head + "\n";
  for (const DocumentRecord& record : document.records) out += record.json + "\n";
  return document.last_line.empty() ? out : out + document.last_line + "\n";
}

std::string render_csv(const Document& document, const RenderOptions&) {
  std::string out = document.fields.empty() ? "" : csv_line(document.fields);
  for (const DocumentRecord& record : document.records) {
    for (const std::vector<std::string>& line : record.lines) out += csv_line(line);
  }
  return out;
}

}  // namespace instr
