#include "core/cli/experiment_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cli/values.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/toml_reader.h"

namespace instr {

namespace {

constexpr char kLeftOut = '-';  // before a value

// One item of an axis's list.
template <class T, class Convert>
Expected<void> take(const std::string& axis, const std::string& item, const Convert& convert,
                    std::vector<T>& values, std::vector<AxisValue>& left_out) {
  const bool is_left_out = item.starts_with(kLeftOut);
  const std::string name = item.substr(is_left_out ? 1 : 0);
  auto value = convert(name);
  if (!value) return tl::unexpected(value.error());
  if (is_left_out) {
    const AxisValue one{axis, name};
    return check_left_out(one).map([&] { left_out.push_back(one); });
  }
  if (std::find(values.begin(), values.end(), *value) == values.end()) {
    values.push_back(*std::move(value));
  }
  return {};
}

auto numbers_up_to(int most) {
  return [most](const std::string& text) {
    return number_from({"", text}, 1, most).map_error([](Error error) {
      error.advice = "write a whole number, such as 2";
      return error;
    });
  };
}

struct AxisOption {
  const char* axis;
  std::string help;
  std::vector<std::string> choices;
  int most = 0;  // of values that are numbers
};

// `visit(option, values, convert)` for each axis.
template <class Visit>
void each_axis(PlanConfig& plan, const Visit& visit) {
  std::vector<std::string> backends;
  for (const RuntimeFacts& known : kRuntimes) backends.emplace_back(known.name);
  visit(AxisOption{"accelerator", "cpu, cuda (default: as in the definitions)", known_devices()},
        plan.selection.devices, accelerator_from);
  visit(AxisOption{"backend", list_of(backends) + " (default: all); eager is always included",
                   backends},
        plan.selection.runtimes, backend_from);
  visit(
      AxisOption{"test", "eval (forward), train (with backward); default: both", {"eval", "train"}},
      plan.selection.autograds, test_from);
  visit(AxisOption{"dtype",
                   "float32, float64, float16, bfloat16: for tensors without an explicit type; "
                   "amp: float32 under autocast (float32)",
                   {std::begin(kDataTypes), std::end(kDataTypes)}},
        plan.axes.data_types, data_type_from);
  visit(AxisOption{"shapes",
                   "static, dynamic: whether the backends of torch.compile() make code for these "
                   "sizes or for any (static)",
                   {std::begin(kShapes), std::end(kShapes)}},
        plan.axes.shapes, shapes_from);
  visit(AxisOption{"threads",
                   "measure with these numbers of threads, whatever the definitions say",
                   {},
                   kMaxThreads},
        plan.axes.threads, numbers_up_to(kMaxThreads));
  visit(
      AxisOption{
          "batch_size", "the same for definitions with a parameter batch_size", {}, kMostBatch},
      plan.axes.batch_sizes, numbers_up_to(kMostBatch));
}

// "batch_size" -> "--batch-size"
std::string option_of(std::string axis) {
  std::replace(axis.begin(), axis.end(), '_', '-');
  return "--" + axis;
}

// A list's items as text: integers, too.
std::vector<Text> items_of(const TableReader& read, const AxisOption& option) {
  if (option.most == 0) return read.texts(option.axis);
  std::vector<Text> items;
  for (int number : read.integers(option.axis)) {
    items.push_back({std::to_string(number), read.place(option.axis)});
  }
  return items;
}

}  // namespace

void declare_axes(CommandLine& line, PlanConfig& plan) {
  each_axis(plan, [&](const AxisOption& option, auto& values, auto convert) {
    const std::string axis = option.axis;
    line.option(option_of(axis), "LIST", option.help,
                each_item([axis, convert, &values, &plan](const Given& given) {
                  return take(axis, given.value, convert, values, plan.axes.left_out);
                }),
                option.choices);
  });
}

void read_axes(const TableReader& read, PlanConfig& plan) {
  const std::vector<AxisValue> given = plan.axes.left_out;
  each_axis(plan, [&](const AxisOption& option, auto& values, auto convert) {
    const bool is_given =
        !values.empty() || std::any_of(given.begin(), given.end(), [&option](const AxisValue& one) {
          return one.axis == option.axis;
        });
    auto taken = values;
    auto left_out = plan.axes.left_out;
    for (const Text& item : items_of(read, option)) {
      auto took = take(option.axis, item.code, convert, taken, left_out);
      if (!took) read.add_error(item.where, took.error().what, took.error().advice);
    }
    if (is_given) return;
    values = std::move(taken);
    plan.axes.left_out = std::move(left_out);
  });
}

}  // namespace instr
