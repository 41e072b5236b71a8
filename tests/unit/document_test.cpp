#include "core/report/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/report/explain.h"
#include "core/report/formats.h"
#include "core/report/list.h"

namespace instr::document_test {
namespace {

using nlohmann::json;

Document example() {
  Document document;
  document.tables = {{.title = "shown",
                      .columns = {{.heading = "name", .name = "key", .align = Align::kLeft},
                                  {.heading = "", .name = "id", .is_hidden = true},
                                  {.heading = "cost", .name = "cost"},
                                  {.heading = "why", .name = "why", .is_spare = true}},
                      .rows = {{.cells = {text_cell("a|b"),
                                          {.text = "", .value = "7"},
                                          number_cell(1234.5, "1,234.5"),
                                          {}},
                                .more = "\"more\":[1]"}}}};
  document.notes = {{.kind = DocumentNote::Kind::kConclusion, .text = "all"}};
  add_records(document, document.tables[0]);
  return document;
}

TEST(Document, HasTheSameCellsInEachFormat) {
  const Document document = example();
  EXPECT_EQ(render(ReportFormat::kTable, document),
            "shown:\n"
            "name     cost  why\n"
            "──────────────────\n"
            "a|b   1,234.5\n"
            "\n"
            "all\n");
  EXPECT_EQ(render(ReportFormat::kMarkdown, document),
            "shown:\n\n| name | cost | why |\n|:---|---:|---:|\n| a\\|b | 1,234.5 | |\n\nall\n");
  const std::string record = R"({"key":"a|b","id":7,"cost":1234.5,"why":null,"more":[1]})";
  EXPECT_EQ(render(ReportFormat::kJson, document), "[\n" + record + "\n]\n");
  EXPECT_EQ(render(ReportFormat::kJsonl, document), record + "\n");
  EXPECT_EQ(render(ReportFormat::kCsv, document), "key,id,cost,why\r\na|b,7,1234.5,\r\n");
}

TEST(Document, LeavesOutSpareColumnsWhereItIsTooWide) {
  EXPECT_EQ(render(ReportFormat::kTable, example(), {.width = 15}),
            "shown:\nname     cost\n─────────────\na|b   1,234.5\n\nall\n");
}

TEST(Document, IsAnObjectOrAList) {
  Document document;
  EXPECT_EQ(render(ReportFormat::kJson, document), "[]\n");
  document.list_name = "rows";
  EXPECT_EQ(render(ReportFormat::kJson, document), "{\"rows\":[]}\n");
  document.head = R"({"schema":1})";
  document.summary = R"({"count":0})";
  document.last_line = R"({"end":0})";
  EXPECT_EQ(render(ReportFormat::kJson, document), R"({"schema":1,"count":0,"rows":[]})"
                                                   "\n");
  EXPECT_EQ(render(ReportFormat::kJsonl, document), "{\"schema\":1}\n{\"end\":0}\n");
}

TEST(Document, OfVariantsHasTheirParametersForPrograms) {
  Variant variant;
  variant.key = "a/n=4/eager/forward/t1/cpu";
  variant.label = "a";
  variant.params = {{"n", "4"}, {"m", "8"}};
  variant.tags = {"x", "y"};
  variant.where.file = "a.toml";
  variant.where.line = 3;
  const Document document = list_document({variant});
  const json list = json::parse(render(ReportFormat::kJson, document));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["params"].dump(), R"({"m":"8","n":"4"})");
  EXPECT_EQ(list[0]["tags"].dump(), R"(["x","y"])");
  EXPECT_EQ(
      render(ReportFormat::kCsv, document),
      "key,label,params,language,backend,autograd,threads,device,tags,description,file,line\r\n"
      "a/n=4/eager/forward/t1/cpu,a,n=4 m=8,cpp,eager,forward,1,cpu,x y,,a.toml,3\r\n");
  EXPECT_NE(render(ReportFormat::kTable, document).find("a.toml:3"), std::string::npos);
}

TEST(Document, OfAnExplanationIsAHeadAndALineForEachFunction) {
  Counted counted;
  counted.metrics = {{"instructions", 10}};
  counted.functions = {{"f", "x.so", 7, 1}, {"g", "x.so", 3, 1}};
  const std::string lines = explain_report(ReportFormat::kJsonl, explain("a", counted));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_EQ(json::parse(lines.substr(0, lines.find('\n')))["kind"], "explanation");
}

}  // namespace
}  // namespace instr::document_test
