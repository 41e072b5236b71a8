#include "core/report/plot_picture.h"

#include <utility>

#include "core/base/format.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/base/replace_file.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kGnuplot = "gnuplot";

// Where gnuplot says what it does not understand: after the lines that it is in.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return printable(text.substr(text.rfind('\n') + 1));
}

}  // namespace

Expected<std::string> draw_svg(const Chart& chart, std::stop_token stop) {
  auto program = find_program(kGnuplot);
  if (!program) {
    return fail("a picture needs gnuplot, which is not on PATH",
                "install it: apt-get install gnuplot-nox");
  }
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  // As a file, not on standard input: gnuplot then ends at the first line that it cannot read.
  fs::path file = folder->path() / "plot.gp";
  auto written = replace_file(file, plot_script(chart));
  if (!written) return tl::unexpected(written.error());
  SpawnOptions spawn;
  // Neither the user's settings nor the locale: the same results are the same picture.
  spawn.argv = {program->string(), "--default-settings", file.string()};
  spawn.environment = {{"LC_ALL=C.UTF-8"}};
  auto ran = run_command(std::move(spawn), stop);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->exit_code != 0 || ran->output.find("</svg>") == std::string::npos) {
    return fail("gnuplot could not draw the picture: " + last_line(ran->errors),
                "version 5.4 or newer is needed: gnuplot --version");
  }
  return std::move(ran->output);
}

}  // namespace instr
