// The table for people: columns where the terminal is wide enough, one value a line where it is
// not.
#include <algorithm>
#include <optional>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/report/report_grid.h"
#include "core/report/report_summary.h"

namespace instr {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 2;
// Names shortened to less than this tell too little, and another layout is taken.
constexpr std::size_t kLeastName = 20;
// More than this, and the numbers are no longer near what they belong to.
constexpr std::size_t kStackedWidth = 44;
constexpr std::size_t kUnsteadyLines = 20;
// The rest is in the results file.
constexpr std::size_t kMessageLines = 40;
constexpr const char* kRule = "\xE2\x94\x80";  // U+2500, a horizontal line

std::string rule(std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += kRule;
  return text;
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

// A line of the output; trailing spaces are never written.
class Line {
 public:
  explicit Line(std::string& out) : out_(out) {}
  ~Line() { out_ += "\n"; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Text that takes `columns`, right-aligned there; its escape sequences take none.
  void right(const std::string& text, std::size_t columns, Tone tone, bool color) {
    std::size_t width = display_width(text);
    pending_ += width < columns ? columns - width : 0;
    put(toned(text, tone, color), width);
  }

  void left(const std::string& text, std::size_t columns, const std::string& shown) {
    std::size_t width = display_width(text);
    put(shown, width);
    pending_ += width < columns ? columns - width : 0;
  }

  void gap(std::size_t columns) { pending_ += columns; }

 private:
  void put(const std::string& shown, std::size_t width) {
    if (width == 0) return;
    out_ += spaces(pending_) + shown;
    pending_ = 0;
  }

  std::string& out_;
  std::size_t pending_ = 0;
};

std::vector<std::string> heading_lines(const std::string& heading) {
  std::size_t space = heading.find(' ');
  if (space == std::string::npos) return {heading};
  return {heading.substr(0, space), heading.substr(space + 1)};
}

struct Layout {
  std::size_t name = 0;              // columns of the names
  std::size_t flat_limit = 0;        // columns of a full name on one line with its values
  std::vector<std::size_t> columns;  // of each column
  std::size_t heading_lines = 1;

  std::size_t total() const {
    std::size_t sum = name;
    for (std::size_t width : columns) sum += kGap + width;
    return sum;
  }

  // Columns of a terminal that these take, the gaps between them included.
  std::size_t width(std::size_t first, std::size_t count) const {
    std::size_t sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += columns[i] + (i == first ? 0 : kGap);
    return sum;
  }
};

// Neighbours that share a title; columns that share none are alone.
struct Span {
  std::size_t first;
  std::size_t count;
  std::string title;  // " instructions "; "" where there is none
};

std::vector<Span> spans_of(const Grid& grid) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::string title = grid.columns[i].span;
    if (!title.empty()) title = " " + title + " ";
    if (!spans.empty() && !title.empty() && spans.back().title == title) {
      ++spans.back().count;
    } else {
      spans.push_back({i, 1, title});
    }
  }
  return spans;
}

constexpr std::size_t kAnyWidth = static_cast<std::size_t>(-1);

// A group of one row is one line with its full name, where that takes at most `flat_limit` columns;
// others are a heading and indented rows.
bool is_flat(const GridGroup& group, std::size_t flat_limit) {
  return group.rows.size() == 1 && display_width(group.rows[0].full_name) <= flat_limit;
}

Layout layout_of(const Grid& grid, std::size_t flat_limit = kAnyWidth) {
  Layout layout;
  layout.flat_limit = flat_limit;
  for (const GridColumn& column : grid.columns) {
    auto lines = heading_lines(column.heading);
    layout.heading_lines = std::max(layout.heading_lines, lines.size());
    std::size_t width = 0;
    for (const std::string& line : lines) width = std::max(width, display_width(line));
    layout.columns.push_back(width);
  }
  for (const GridGroup& group : grid.groups) {
    for (const GridRow& row : group.rows) {
      std::size_t width = is_flat(group, flat_limit) ? display_width(row.full_name)
                                                     : kIndent + display_width(row.name);
      layout.name = std::max(layout.name, width);
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        layout.columns[i] = std::max(layout.columns[i], display_width(row.cells[i].text));
      }
    }
  }
  for (const Span& span : spans_of(grid)) {
    std::size_t width = layout.width(span.first, span.count);
    std::size_t least = span.title.empty() ? 0 : display_width(span.title) - 2;
    if (width < least) layout.columns[span.first] += least - width;
  }
  return layout;
}

// Shortens the names so that all fits into `width` columns; false where they would get too short.
bool fit(Layout& layout, std::size_t width) {
  if (width == 0 || layout.total() <= width) return true;
  std::size_t values = layout.total() - layout.name;
  if (values + std::min(layout.name, kLeastName) > width) return false;
  layout.name = width - values;
  return true;
}

void drop_last_column(Grid& grid) {
  grid.columns.pop_back();
  for (GridGroup& group : grid.groups) {
    for (GridRow& row : group.rows) row.cells.pop_back();
  }
}

class ColumnTable {
 public:
  ColumnTable(const Grid& grid, const Layout& layout, std::size_t width, bool color)
      : grid_(grid), layout_(layout), width_(width), color_(color) {}

  std::string text() {
    heading();
    bool after_headed = false;
    for (std::size_t i = 0; i < grid_.groups.size(); ++i) {
      const GridGroup& group = grid_.groups[i];
      bool flat = is_flat(group, layout_.flat_limit);
      if (i > 0 && (after_headed || !flat)) out_ += "\n";
      after_headed = !flat;
      if (after_headed) {
        bool is_whole = width_ == 0 || grid_.has_keys;
        std::string name = is_whole ? group.name : shorten_middle(group.name, width_);
        Line(out_).left(name, 0, styled(name, Style::kHeading, color_));
      }
      for (const GridRow& group_row : group.rows) row(group_row, flat);
    }
    return std::move(out_);
  }

 private:
  void heading() {
    titles();
    for (std::size_t i = 0; i < layout_.heading_lines; ++i) {
      Line line(out_);
      line.gap(layout_.name);
      for (std::size_t c = 0; c < grid_.columns.size(); ++c) {
        auto words = heading_lines(grid_.columns[c].heading);
        std::size_t first = layout_.heading_lines - words.size();
        line.gap(kGap);
        line.right(i < first ? "" : words[i - first], layout_.columns[c], Tone::kPlain, color_);
      }
    }
    std::string full = rule(layout_.total());
    Line(out_).left(full, 0, styled(full, Style::kDim, color_));
  }

  // "---- instructions ----" above the columns that are instructions.
  void titles() {
    auto spans = spans_of(grid_);
    if (std::all_of(spans.begin(), spans.end(),
                    [](const Span& span) { return span.title.empty(); })) {
      return;
    }
    Line line(out_);
    line.gap(layout_.name);
    for (const Span& span : spans) {
      line.gap(kGap);
      std::size_t width = layout_.width(span.first, span.count);
      line.right(title_text(span.title, width), width, Tone::kDim, color_);
    }
  }

  static std::string title_text(const std::string& title, std::size_t width) {
    if (title.empty()) return "";
    if (width < title.size() + 2) return title.substr(1, title.size() - 2);
    std::size_t left = (width - title.size()) / 2;
    return rule(left) + title + rule(width - title.size() - left);
  }

  void row(const GridRow& row, bool flat) {
    Line line(out_);
    std::size_t indent = flat ? 0 : kIndent;
    line.gap(indent);
    std::size_t room = layout_.name - indent;
    std::string name = shorten_middle(flat ? row.full_name : row.name, room);
    line.left(name, room, name);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line.gap(kGap);
      line.right(row.cells[i].text, layout_.columns[i], row.cells[i].tone, color_);
    }
  }

  const Grid& grid_;
  const Layout& layout_;
  std::size_t width_;
  bool color_;
  std::string out_;
};

// A value on the line of its name; below it where both do not fit.
void stacked_value(std::string& out, const std::string& heading, const GridCell& cell,
                   std::size_t width, bool color) {
  if (cell.text.empty()) return;
  std::size_t taken = kIndent + display_width(heading) + 1 + display_width(cell.text);
  if (taken <= width) {
    Line line(out);
    line.gap(kIndent);
    line.left(heading, 0, heading);
    line.right(cell.text, width - kIndent - display_width(heading), cell.tone, color);
    return;
  }
  std::string name = shorten_end(heading, width > kIndent ? width - kIndent : width);
  out += spaces(width > kIndent ? kIndent : 0) + name + "\n";
  Line(out).right(cell.text, width, cell.tone, color);
}

std::string stacked_table(const Grid& grid, const std::string& title, std::size_t width,
                          bool color) {
  std::string out;
  for (const std::string& line : wrap(title, width)) {
    out += styled(line, Style::kDim, color) + "\n";
  }
  std::size_t used = std::min(width, kStackedWidth);
  for (const GridGroup& group : grid.groups) {
    for (const GridRow& row : group.rows) {
      std::string name = grid.has_keys ? row.full_name : shorten_middle(row.full_name, width);
      out += "\n" + styled(name, Style::kHeading, color) + "\n";
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        stacked_value(out, full_heading(grid.columns[i]), row.cells[i], used, color);
      }
    }
  }
  return out;
}

// `text` in lines of at most `width` columns, all indented.
std::string indented(const std::string& text, std::size_t indent, std::size_t width,
                     std::size_t most_lines) {
  std::size_t room = width > indent ? width - indent : 0;
  std::vector<std::string> lines = wrap(text, room);
  std::size_t shown = lines.size() > most_lines ? most_lines - 1 : lines.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out += lines[i].empty() ? "\n" : spaces(indent) + lines[i] + "\n";
  }
  if (shown < lines.size()) {
    out += spaces(indent) + "(and " + format_plural(lines.size() - shown, "more line") + ")\n";
  }
  return out;
}

std::string failures_text(const std::vector<FailureGroup>& failures, std::size_t width,
                          bool color) {
  std::string out;
  for (const FailureGroup& failure : failures) {
    out += "\n";
    for (std::size_t i = 0; i < failure.keys.size(); ++i) {
      // Keys are never shortened: they are there to be copied into a filter.
      out += failure.keys[i] + (i + 1 < failure.keys.size() ? "\n" : ": ");
    }
    out += styled(failure.kind, Style::kBad, color) + "\n";
    if (!failure.message.empty()) out += indented(failure.message, 4, width, kMessageLines);
  }
  return out;
}

std::string skips_text(const Summary& summary, std::size_t width) {
  std::string out = summary.skips.empty() ? "" : "\n";
  for (const SkipGroup& skip : summary.skips) {
    std::string reason = skip.reason.empty() ? "no reason was given" : skip.reason;
    std::string line = format_count(static_cast<double>(skip.count)) + " skipped: " + reason;
    out += indented(line, 0, width, kMessageLines);
  }
  return out;
}

// Rows for each variant, in at most `width` columns; nothing where that is too narrow.
std::optional<std::string> tall_table(const Grid& grid, std::size_t width, bool color) {
  Layout layout = layout_of(grid, 0);
  std::size_t values = layout.total() - layout.name;
  std::size_t left = width > values ? width - values : 0;
  bool has_all = width == 0 || layout_of(grid).total() <= width;
  layout = layout_of(grid, has_all ? kAnyWidth : grid.has_keys ? 0 : left);
  if (!fit(layout, width)) return std::nullopt;
  return ColumnTable(grid, layout, width, color).text();
}

// The text of the first layout that fits.
std::string grid_text(const std::vector<Measurement>& measurements, const ReportOptions& options,
                      std::size_t width) {
  Grid grid = make_grid(measurements, options);
  if (!options.show_keys) {
    Layout layout = layout_of(grid);
    if (fit(layout, width)) return ColumnTable(grid, layout, width, options.color).text();
    // The marks at the values say what the last column does.
    drop_last_column(grid);
    layout = layout_of(grid);
    if (fit(layout, width)) return ColumnTable(grid, layout, width, options.color).text();
  }
  Grid tall = make_tall_grid(measurements, options);
  if (auto text = tall_table(tall, width, options.color)) return *text;
  drop_last_column(tall);
  if (auto text = tall_table(tall, width, options.color)) return *text;
  return stacked_table(options.show_keys ? tall : grid,
                       shown_values(options) + " for each iteration, by variant:", width,
                       options.color);
}

// What a run over several runtimes says of each.
std::string backends_text(const std::vector<Measurement>& measurements, std::size_t width,
                          bool color) {
  Grid grid = make_backend_grid(measurements);
  return grid.columns.empty() ? "" : "\n" + table_of(grid, "by runtime:", width, color);
}

std::string dim_lines(const std::string& text, std::size_t width, bool color) {
  std::string out;
  for (const std::string& line : wrap(text, width)) {
    out += styled(line, Style::kDim, color) + "\n";
  }
  return out;
}

std::string notes_text(const std::vector<std::string>& footnotes, const Summary& summary,
                       std::size_t width, bool color) {
  std::string out = footnotes.empty() ? "" : "\n";
  for (const std::string& note : footnotes) out += dim_lines(note, width, color);
  const auto& unsteady = summary.unsteady;
  if (!unsteady.empty()) out += "\n";
  std::size_t shown = std::min(unsteady.size(), kUnsteadyLines);
  for (std::size_t i = 0; i < shown; ++i) {
    out += indented("not steady: " + unsteady[i], 0, width, kMessageLines);
  }
  if (shown < unsteady.size()) {
    out += "not steady: " + format_count(static_cast<double>(unsteady.size() - shown)) + " more\n";
  }
  return out;
}

}  // namespace

std::string table_of(const Grid& grid, const std::string& title, std::size_t width, bool color) {
  Layout layout = layout_of(grid);
  if (fit(layout, width)) return ColumnTable(grid, layout, width, color).text();
  return stacked_table(grid, title, width, color);
}

std::string report_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  if (measurements.empty()) return "nothing was measured\n";
  auto width = static_cast<std::size_t>(std::max(options.width, 0));
  Summary summary = summarize(measurements);
  std::string out = grid_text(measurements, options, width);
  out += backends_text(measurements, width, options.color);
  out += notes_text(make_grid(measurements, options).footnotes, summary, width, options.color);
  out += failures_text(summary.failures, width, options.color);
  out +=
      failures_text(summary.unverified, width, options.color) + skips_text(summary, width) + "\n";
  Style style = summary.failed > 0 ? Style::kBad : Style::kHeading;
  for (const std::string& line : wrap(summary_line(summary, options), width)) {
    out += styled(line, style, options.color) + "\n";
  }
  return out;
}

}  // namespace instr
