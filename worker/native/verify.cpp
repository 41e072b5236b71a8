#include "worker/native/verify.h"

#include <ATen/ATen.h>
#include <c10/core/ScalarType.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "worker/children.h"
#include "worker/native/native_code.h"
#include "worker/torch_side.h"

namespace instr {
namespace {

// The difference between two tensors of the same shape, on any device, of any layout.

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Converts to real numbers, dense and on the CPU; a complex number becomes two.
at::Tensor to_plain(at::Tensor tensor) {
  if (tensor.layout() != at::kStrided) tensor = tensor.to_dense();
  if (tensor.is_quantized()) tensor = tensor.dequantize();
  tensor = tensor.detach().to(at::kCPU);
  if (tensor.is_complex()) tensor = at::view_as_real(tensor.resolve_conj());
  return tensor.resolve_neg();
}

at::Tensor is_equal(const at::Tensor& one, const at::Tensor& other) {
  at::Tensor equal = at::eq(one, other);
  return one.is_floating_point() ? equal.logical_or(one.isnan().logical_and(other.isnan())) : equal;
}

// Unequal values differ, even if the difference vanishes in a double.
at::Tensor differences(const at::Tensor& one, const at::Tensor& other, const at::Tensor& equal) {
  double min = one.is_floating_point() ? std::numeric_limits<double>::min() : 1;
  at::Tensor difference = (one.to(at::kDouble) - other.to(at::kDouble)).abs();
  difference.masked_fill_(difference.isnan(), kInfinity);
  difference.clamp_min_(min);
  return difference.masked_fill_(equal, 0.0);
}

std::string format_index(std::int64_t index, const at::Tensor& tensor) {
  auto sizes = tensor.sizes().vec();
  std::string text;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    text = std::to_string(index % sizes[i]) + (text.empty() ? "" : ", ") + text;
    index /= sizes[i];
  }
  return "[" + text + "]";
}

double cosine_of(at::Tensor one, at::Tensor other, const at::Tensor& equal) {
  // Values that are infinite or NaN in both count as equal.
  at::Tensor is_alike = equal.logical_and(one.isfinite().logical_not());
  one = one.masked_fill(is_alike, 0.0);
  other = other.masked_fill(is_alike, 0.0);
  double lengths = (one.norm() * other.norm()).item<double>();
  if (one.norm().item<double>() == 0 && other.norm().item<double>() == 0) return 1;
  return lengths == 0 ? 0 : (one * other).sum().item<double>() / lengths;
}

// The difference that exceeds the allowed one by most, or else the maximum. Values that are equal,
// or NaN in both, differ by 0; if only one is not finite, the difference is infinite.
struct Difference {
  bool exceeds = false;
  bool is_nan_in_one = false;  // a value is NaN in only one of the tensors
  bool is_all_nan = false;     // both are NaN everywhere
  double largest = 0;
  double allowed = 0;  // there: absolute + relative * |eager's|
  std::string at;      // "[2, 1]"
  double value = 0;
  double eager_value = 0;
  // The cosine of the angle between the vectors: 1 if both are 0, NaN if either has a NaN.
  double cosine = 1;
};

Difference measure_difference(const at::Tensor& eager, const at::Tensor& other, double relative,
                              double absolute) {
  Difference difference;
  at::Tensor first = to_plain(eager);
  at::Tensor second = to_plain(other);
  if (first.numel() == 0) return difference;
  at::Tensor equal = is_equal(first, second);
  const at::Tensor nan = first.isnan();
  const at::Tensor other_nan = second.isnan();
  difference.is_nan_in_one = nan.ne(other_nan).any().item<bool>();
  difference.is_all_nan = nan.logical_and(other_nan).all().item<bool>();
  at::Tensor distance = differences(first, second, equal).reshape({-1});
  first = first.to(at::kDouble);
  second = second.to(at::kDouble);
  // Infinite values are either equal or not.
  at::Tensor magnitude = first.abs();
  magnitude = magnitude.masked_fill(magnitude.isfinite().logical_not(), 0.0).reshape({-1});
  at::Tensor allowed = magnitude * relative + absolute;
  at::Tensor excess = distance - allowed;
  difference.exceeds = excess.max().item<double>() > 0;
  std::int64_t worst = (difference.exceeds ? excess : distance).argmax().item<std::int64_t>();
  difference.largest = distance[worst].item<double>();
  difference.allowed = allowed[worst].item<double>();
  difference.value = second.reshape({-1})[worst].item<double>();
  difference.eager_value = first.reshape({-1})[worst].item<double>();
  difference.at = format_index(eager.is_complex() ? worst / 2 : worst, eager);
  difference.cosine = cosine_of(first, second, equal);
  return difference;
}

// The differences of both from `exact`, without values that are NaN in any of the three.
struct ReferenceErrors {
  double largest = 0;
  double eager_largest = 0;
  double mean_square = 0;  // root mean square
  double eager_mean_square = 0;
};

ReferenceErrors measure_errors(const at::Tensor& exact, const at::Tensor& eager,
                               const at::Tensor& other) {
  at::Tensor values = to_plain(exact).reshape({-1});
  at::Tensor first = to_plain(eager).to(at::kDouble).reshape({-1});
  at::Tensor second = to_plain(other).to(at::kDouble).reshape({-1});
  const at::Tensor known =
      values.isnan().logical_or(first.isnan()).logical_or(second.isnan()).logical_not();
  values = values.masked_select(known);
  ReferenceErrors errors;
  if (values.numel() == 0) return errors;
  const auto from_exact = [&](const at::Tensor& tensor) {
    const at::Tensor selected = tensor.masked_select(known);
    return differences(selected, values, is_equal(selected, values));
  };
  first = from_exact(first);
  second = from_exact(second);
  errors.largest = second.max().item<double>();
  errors.eager_largest = first.max().item<double>();
  errors.mean_square = second.square().mean().sqrt().item<double>();
  errors.eager_mean_square = first.square().mean().sqrt().item<double>();
  return errors;
}

// True if all values are equal in their bits, or NaN in both. Both have the same data type.
bool has_same_bits(const at::Tensor& one, const at::Tensor& other) {
  at::Tensor first = to_plain(one);
  at::Tensor second = to_plain(other);
  at::Tensor same = is_equal(first, second);
  if (first.is_floating_point()) {
    same = same.logical_and(first.signbit().eq(second.signbit()).logical_or(first.isnan()));
  }
  return same.all().item<bool>();
}

// An output or gradient that a run computed.
struct Value {
  std::string name;  // "": the output; "output[0]": a part of it; "gradient of x"
  at::Tensor tensor;
  std::string otherwise;  // describes the value if `tensor` is undefined
};

bool is_gradient(const Value& value) { return value.name.rfind("gradient of ", 0) == 0; }

// A run of the statement from its own setup.
class Run : instr_verification {
 public:
  Run(const void* verifier, int threads, bool wants_reference)
      : verifier_(verifier), threads_(threads) {
    abi_version = INSTR_ABI_VERSION;
    is_reference = wants_reference ? 1 : 0;
    instr_verification::begin = begin_run;
    instr_verification::take = take_value;
    torch_side::prepare(threads);
    caught_ = torch_side::run_guarded([](void* self) { static_cast<Run*>(self)->call(); }, this);
  }

  const torch_side::Caught& caught() const { return caught_; }
  const std::vector<Value>& values() const { return values_; }

  const Value* find(const std::string& name) const {
    for (const Value& value : values_) {
      if (value.name == name) return &value;
    }
    return nullptr;
  }

 private:
  void call() { call_verifier(verifier_, this); }

  static void begin_run(instr_verification* self) {
    torch_side::prepare(static_cast<Run*>(self)->threads_);
  }

  static void take_value(instr_verification* self, const char* name, const void* tensor,
                         const char* otherwise) {
    Value value{name, {}, otherwise};
    const bool is_nested = tensor != nullptr && static_cast<const at::Tensor*>(tensor)->is_nested();
    if (is_nested) value.otherwise = "nested tensors are not compared";
    if (tensor != nullptr && !is_nested) {
      const auto copied = torch_side::run_guarded(
          [&] { value.tensor = static_cast<const at::Tensor*>(tensor)->detach().clone(); });
      if (copied.any) value.otherwise = "it cannot be copied: " + copied.text;
    }
    static_cast<Run*>(self)->values_.push_back(std::move(value));
  }

  const void* verifier_;
  int threads_;
  std::vector<Value> values_;
  torch_side::Caught caught_;
};

wire::Message raised(const char* by, const torch_side::Caught& caught) {
  return {
      "raised",
      {{"by", by}, {"message", caught.text.empty() ? "an exception without a text" : caught.text}}};
}

// The comparison itself failed, not the snippet.
wire::Message incomparable(const torch_side::Caught& caught) {
  return failed("unsupported", "the values cannot be compared: " + caught.text);
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string type_of(const at::Tensor& tensor) { return c10::toString(tensor.scalar_type()); }

std::string shape_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

// Returns a tensor's properties other than its values.
std::string kind_of(const at::Tensor& tensor) {
  return type_of(tensor) + " " + shape_of(tensor) + " " + tensor.device().str();
}

// Returns the name of the first value whose bits differ between the two runs.
std::optional<std::string> find_difference(const Run& first, const Run& second) {
  for (const Value& value : first.values()) {
    const Value* other = second.find(value.name);
    if (other == nullptr || value.tensor.defined() != other->tensor.defined()) return value.name;
    if (!value.tensor.defined()) continue;
    if (kind_of(value.tensor) != kind_of(other->tensor)) return value.name;
    if (!has_same_bits(value.tensor, other->tensor)) return value.name;
  }
  return std::nullopt;
}

Allowed allowed_for(const VerificationRequest& request, const at::Tensor& tensor) {
  const auto it = request.allowed.find(type_of(tensor));
  return it == request.allowed.end() ? Allowed{} : it->second;
}

// Adds the fields that describe a value.
void describe(wire::Message& item, const Value& eager, const Value* candidate) {
  item.fields["name"] = eager.name;
  item.fields["eager_type"] = type_of(eager.tensor);
  item.fields["eager_shape"] = shape_of(eager.tensor);
  item.fields["eager_device"] = eager.tensor.device().str();
  if (candidate == nullptr) {
    item.fields["otherwise"] = "there is none";
  } else if (!candidate->tensor.defined()) {
    item.fields["otherwise"] = candidate->otherwise;
  } else {
    item.fields["type"] = type_of(candidate->tensor);
    item.fields["shape"] = shape_of(candidate->tensor);
    item.fields["device"] = candidate->tensor.device().str();
  }
}

void add_difference(wire::Message& item, const Difference& difference) {
  item.fields["exceeds"] = difference.exceeds ? "1" : "0";
  item.fields["difference"] = number(difference.largest);
  item.fields["allowed"] = number(difference.allowed);
  item.fields["at"] = difference.at;
  item.fields["value"] = number(difference.value);
  item.fields["eager_value"] = number(difference.eager_value);
  item.fields["cosine"] = number(difference.cosine);
  if (difference.is_all_nan) item.fields["all_nan"] = "1";
}

// True for single or lower precision, in which eager can be inaccurate as well: a run in double
// precision shows the error of each.
bool may_have_reference(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kComplexFloat: return true;
    default: return false;
  }
}

class Comparison {
 public:
  Comparison(const VerificationRequest& request,
             const std::function<void(const std::string&)>& on_stage, const Run& eager,
             const Run& candidate)
      : request_(request), on_stage_(on_stage), eager_(eager), candidate_(candidate) {}

  wire::Message message() {
    wire::Message all{"compared", {}};
    std::size_t count = 0;
    for (const Value& value : eager_.values()) {
      all.fields[std::to_string(count++)] = wire::encode(compare(value));
    }
    for (const Value& value : candidate_.values()) {
      if (is_gradient(value) || eager_.find(value.name) != nullptr) continue;
      all.fields[std::to_string(count++)] =
          wire::encode({"item",
                        {{"name", value.name},
                         {"eager_type", "none"},
                         {"otherwise", "eager's output has no such part"}}});
    }
    return all;
  }

 private:
  wire::Message compare(Value eager) {
    wire::Message item{"item", {}};
    const Value* original = candidate_.find(eager.name);
    Value candidate = original == nullptr ? Value{} : *original;
    if (is_gradient(eager)) fill_with_zeros(eager.tensor, candidate.tensor);
    if (!eager.tensor.defined()) return {"item", {{"name", eager.name}}};
    describe(item, eager, original == nullptr ? nullptr : &candidate);
    const bool is_comparable =
        candidate.tensor.defined() && kind_of(eager.tensor) == kind_of(candidate.tensor);
    if (!is_comparable) return item;
    Allowed allowed = allowed_for(request_, eager.tensor);
    Difference difference =
        measure_difference(eager.tensor, candidate.tensor, allowed.relative, allowed.absolute);
    add_difference(item, difference);
    // No reference excuses a NaN in only one of them.
    if (difference.exceeds && !difference.is_nan_in_one && may_have_reference(eager.tensor)) {
      add_reference(item, eager, candidate, allowed);
    }
    return item;
  }

  // A gradient that was not computed is 0.
  static void fill_with_zeros(at::Tensor& one, at::Tensor& other) {
    if (one.defined() && !other.defined()) other = at::zeros_like(one);
    if (other.defined() && !one.defined()) one = at::zeros_like(other);
  }

  void add_reference(wire::Message& item, const Value& eager, const Value& candidate,
                     const Allowed& allowed) {
    if (!reference_) {
      on_stage_("reference");
      reference_.emplace(request_.eager, request_.threads, /*wants_reference=*/true);
    }
    const Value* exact = reference_->caught().any ? nullptr : reference_->find(eager.name);
    if (exact == nullptr || !exact->tensor.defined()) return;
    bool is_double = exact->tensor.scalar_type() == at::kDouble ||
                     exact->tensor.scalar_type() == at::kComplexDouble;
    if (!is_double || exact->tensor.sizes() != eager.tensor.sizes()) return;
    const auto errors = measure_errors(exact->tensor, eager.tensor, candidate.tensor);
    item.fields["reference_error"] = number(errors.largest);
    item.fields["eager_reference_error"] = number(errors.eager_largest);
    item.fields["reference_rmse"] = number(errors.mean_square);
    item.fields["eager_reference_rmse"] = number(errors.eager_mean_square);
    item.fields["count"] = std::to_string(eager.tensor.numel());
    item.fields["atol"] = number(allowed.absolute);
  }

  const VerificationRequest& request_;
  const std::function<void(const std::string&)>& on_stage_;
  const Run& eager_;
  const Run& candidate_;
  std::optional<Run> reference_;
};

}  // namespace

wire::Message verify(const VerificationRequest& request,
                     const std::function<void(const std::string& stage)>& on_stage) {
  on_stage("eager");
  Run eager(request.eager, request.threads, /*wants_reference=*/false);
  if (eager.caught().any) return raised("eager", eager.caught());
  const bool has_output = !eager.values().empty() && eager.values().front().tensor.defined();
  if (!has_output) {
    return {"nothing",
            {{"message", eager.values().empty() ? "no value" : eager.values().front().otherwise}}};
  }
  Run again(request.eager, request.threads, /*wants_reference=*/false);
  if (again.caught().any) return raised("eager", again.caught());
  std::optional<std::string> differing;
  const auto compared = torch_side::run_guarded([&] { differing = find_difference(eager, again); });
  if (compared.any) return incomparable(compared);
  if (differing) return {"nondeterministic", {{"name", *differing}}};
  on_stage("candidate");
  Run candidate(request.candidate, request.threads, /*wants_reference=*/false);
  if (candidate.caught().any) return raised("candidate", candidate.caught());
  wire::Message message;
  const auto judged = torch_side::run_guarded(
      [&] { message = Comparison(request, on_stage, eager, candidate).message(); });
  return judged.any ? incomparable(judged) : message;
}

}  // namespace instr
