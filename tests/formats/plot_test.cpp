// Pictures, drawn by the real gnuplot and read by a parser of XML.
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <set>

#include "core/base/format.h"
#include "core/results/results_file.h"
#include "tests/formats/consumers.h"
#include "tests/formats/hostile.h"

namespace instr::formats::plot_test {
namespace {

using boost::property_tree::ptree;

void collect_texts(const ptree& tree, std::set<std::string>& texts) {
  for (const auto& [name, child] : tree) {
    if (name == "text") texts.insert(child.data());
    collect_texts(child, texts);
  }
}

// Text that gnuplot might run, expand or take for the end of a string.
std::vector<std::string> texts_for_gnuplot() {
  std::vector<std::string> texts{"$(touch ran)",
                                 "`touch ran`",
                                 "'7\"7",
                                 "'; system 'touch ran'; '",
                                 "'.system(\"touch ran\").'",
                                 "\"; !touch ran",
                                 "x\n!touch ran\n",
                                 "@macro a_b^c {/Bold d} &{x} ~a{b}",
                                 "%s %g %% %d %n and a text that is longer than others",
                                 "ends in a backslash \\",
                                 "''",
                                 "EOD",
                                 "# { [ (",
                                 "\\n \\x41 \\101"};
  for (const std::string& text : hostile_texts()) texts.push_back(text);
  return texts;
}

class PlotFormats : public ConsumerTest {
 protected:
  std::string results_file(const std::vector<Measurement>& measurements) const {
    std::string text = to_line(to_json(make_results_header({}, {}))) + "\n";
    for (const Measurement& measurement : measurements)
      text += to_line(to_json(measurement)) + "\n";
    text += end_line(measurements.size()) + "\n";
    return write("results.jsonl", text);
  }

  // Runs in a separate folder, where executed commands would leave traces.
  CommandResult plot(std::vector<std::string> arguments) const {
    SpawnOptions options;
    options.argv = {INSTR_BENCH_PROGRAM, "plot"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.working_directory = folder();
    return value_of(run_command(std::move(options)));
  }

  // Returns the texts in the picture.
  std::set<std::string> drawn(const std::vector<std::string>& arguments) const {
    CommandResult result = plot(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    EXPECT_FALSE(fs::exists(folder() / "ran"));
    std::istringstream stream(result.output);
    ptree tree;
    std::set<std::string> texts;
    EXPECT_NO_THROW(boost::property_tree::read_xml(stream, tree)) << result.output;
    EXPECT_EQ(tree.size(), 1u);
    collect_texts(tree, texts);
    return texts;
  }
};

Measurement measurement(const std::string& label, const std::string& parameter,
                        const std::string& value, Backend backend, double ir) {
  Measurement measurement;
  measurement.variant.label = label;
  measurement.variant.params = {{parameter, value}};
  measurement.variant.backend = backend;
  measurement.variant.key = label + "/" + parameter + "=" + value + "/" + to_string(backend);
  Counted counted;
  counted.metrics = {{"instructions", ir}, {"peak_bytes", ir * 7}};
  counted.first_block_instructions = counted.second_block_instructions = ir;
  counted.timing.emplace();
  counted.timing->values[kWall] = {ir / 10, ir / 10, ir / 9};
  add_times(counted.metrics, *counted.timing);
  measurement.outcome = counted;
  return measurement;
}

// Returns the text as in the picture; XML parsers replace characters that are not text in the same
// way.
std::string shown(const std::string& text) { return shorten_middle(printable_xml(text), 60); }

// The results file already marks bytes that were not UTF-8.
std::string stored(const std::string& text) {
  return nlohmann::json::parse(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

TEST_F(PlotFormats, NamesAreDrawnAsTheyAre) {
  for (const std::string& text : texts_for_gnuplot()) {
    std::string file = results_file({measurement(text, "n", "4", Backend::kEager, 100),
                                     measurement(text, "n", "64", Backend::kEager, 9000),
                                     measurement(text, "n", "4", Backend::kFused, 50)});
    auto bars = drawn({file, "--kind=speedup"});
    EXPECT_TRUE(bars.contains(shown(stored(text) + " n=4"))) << text;
    EXPECT_TRUE(bars.contains("2.00x") && bars.contains("fused") && bars.contains("eager")) << text;
    auto lines = drawn({file, "--kind=growth"});
    EXPECT_TRUE(lines.contains(shown(stored(text)))) << text;
    EXPECT_TRUE(lines.contains("4") && lines.contains("64")) << text;
    auto points = drawn({file, "--kind=memory"});
    EXPECT_TRUE(points.contains("Latency and memory") && points.contains("eager")) << text;
  }
}

TEST_F(PlotFormats, TheLegendIsWhole) {
  std::vector<Measurement> all;
  for (int i = 0; i < 40; ++i) {
    for (const char* n : {"4", "64"}) {
      all.push_back(measurement("line " + std::to_string(i), "n", n, Backend::kEager, 100.0 + i));
    }
  }
  auto texts = drawn({results_file(all)});
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(texts.contains("line " + std::to_string(i))) << i;
}

TEST_F(PlotFormats, RefusesWithoutGnuplotOrData) {
  std::string file = results_file({measurement("a", "n", "4", Backend::kEager, 100)});
  const std::string old = "<svg>old</svg>";  // a picture may be replaced, and is not if that fails
  std::string picture = write("picture.svg", old);
  const auto result =
      value_of(run_command({.argv = {INSTR_BENCH_PROGRAM, "plot", file, "--output=" + picture},
                            .environment = {{"PATH=/nonexistent"}}}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_HAS(result.errors, "apt-get install gnuplot-nox");
  CommandResult nothing = plot({file, "--kind=speedup", "--output=" + picture});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_HAS(nothing.errors, "--backend=all");
  CommandResult none = plot({file, "--filter=elsewhere", "--output=" + picture});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_HAS(none.errors, "no benchmark matches the filter `elsewhere`");
  EXPECT_EQ(fs::file_size(picture), old.size());
}

TEST_F(PlotFormats, PointsSayWhatTheyAreUnderTheMouse) {
  const std::string file = results_file({measurement("a & b", "n", "4", Backend::kEager, 100)});
  const CommandResult picture = plot({file, "--kind=memory"});
  EXPECT_HAS(picture.output, "<title>a &amp; b n=4, eager</title>");
  EXPECT_EQ(picture.output.find("script"), std::string::npos);
}

TEST_F(PlotFormats, ATerminalIsShownNoSvg) {
  const std::string file = results_file({measurement("a", "n", "4", Backend::kEager, 100),
                                         measurement("a", "n", "64", Backend::kEager, 9000)});
  const auto on_terminal = [](const std::string& arguments) {
    const std::string plot = "exec '" INSTR_BENCH_PROGRAM "' plot " + arguments;
    return value_of(
        run_command({.argv = {"script", "--quiet", "--return", "--command", plot, "/dev/null"}}));
  };
  const CommandResult refused = on_terminal(file);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.output.find("<svg"), std::string::npos);
  EXPECT_HAS(refused.output, "--output=FILE");
  EXPECT_EQ(on_terminal(file + " --output=" + (folder() / "a.svg").string()).exit_code, 0);
}

}  // namespace
}  // namespace instr::formats::plot_test
