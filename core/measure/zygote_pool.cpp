#include "core/measure/zygote_pool.h"

#include <algorithm>
#include <utility>

#include "worker/abi.h"

namespace instr {

namespace {

constexpr int kStartAttempts = 2;
constexpr int kMostLosses = 4;
// Five to seven seconds on an idle machine.
constexpr std::chrono::minutes kStartTimeout{5};

}  // namespace

Expected<wire::Message> check_hello(const wire::Message& hello) {
  if (hello.get("abi", "?") == std::to_string(INSTR_ABI_VERSION)) return hello;
  return fail("the worker has version " + hello.get("abi", "?") + " of the snippet ABI, not " +
                  std::to_string(INSTR_ABI_VERSION),
              "run with --no-cache, so that the worker is built again");
}

WarmUp zygote_of(const Variant& variant) {
  const WarmUp zygote = facts_of(variant.runtime).zygote;
  return variant.language == Language::kPython && !is_of_python(zygote) ? WarmUp::kPython : zygote;
}

Expected<ZygoteOptions> options_for(WarmUp which, ZygoteOptions options,
                                    const PythonWorker& python_worker) {
  options.kind = which;
  if (!is_of_python(which)) return options;
  return python_worker().map([&options](const std::filesystem::path& worker) {
    options.worker = worker;
    return std::move(options);
  });
}

ZygotePool::ZygotePool(ZygoteOptions options, PythonWorker python_worker,
                       std::function<void()> on_change)
    : options_(std::move(options)),
      python_worker_(std::move(python_worker)),
      on_change_(std::move(on_change)) {}

ZygotePool::~ZygotePool() {
  kill();
  starters_.clear();  // joins
}

void ZygotePool::need(WarmUp which) {
  std::lock_guard lock(mutex_);
  if (slot(which).state == State::kAbsent) start(which);
}

void ZygotePool::start(WarmUp which) {
  Slot& target = slot(which);
  target.state = killed_ ? State::kFailed : State::kStarting;
  if (killed_) target.error = Error{{}, "interrupted", ""};
  if (killed_) return;
  starters_.emplace_back([this, which] { bring_up(which); });
}

Expected<wire::Message> ZygotePool::try_start(WarmUp which) {
  const auto options = options_for(which, options_, python_worker_);
  if (!options) return tl::unexpected(options.error());
  auto zygote = Zygote::start(*options);
  if (!zygote) return tl::unexpected(zygote.error());
  {
    std::lock_guard lock(mutex_);
    if (killed_) return fail("interrupted");
    slot(which).zygote = *zygote;
  }
  auto hello = (*zygote)->await_hello(kStartTimeout).and_then(check_hello);
  if (!hello || options->churn == 0) return hello;
  wire::Message churn{"churn", {{"blocks", std::to_string(options->churn)}}};
  if (auto done = (*zygote)->request(churn, kStartTimeout); !done)
    return fail(to_string(done.error()));
  return hello;
}

void ZygotePool::bring_up(WarmUp which) {
  auto hello = try_start(which);
  for (int attempt = 1; !hello && attempt < kStartAttempts; ++attempt) {
    {
      std::lock_guard lock(mutex_);
      if (killed_) break;
    }
    hello = try_start(which);
  }
  {
    std::lock_guard lock(mutex_);
    Slot& target = slot(which);
    if (hello) {
      target.state = State::kReady;
      if (!hello_ && !is_of_python(which)) hello_ = *hello;
    } else {
      target.state = State::kFailed;
      target.error = hello.error();
      target.zygote.reset();
    }
  }
  changed_.notify_all();
  on_change_();
}

ZygotePool::State ZygotePool::state(WarmUp which) const {
  std::lock_guard lock(mutex_);
  return slot(which).state;
}

bool ZygotePool::any_is(State state) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [state](const Slot& each) { return each.state == state; });
}

bool ZygotePool::is_starting() const {
  std::lock_guard lock(mutex_);
  return any_is(State::kStarting);
}

Expected<std::shared_ptr<Zygote>> ZygotePool::get(WarmUp which) const {
  std::lock_guard lock(mutex_);
  const Slot& from = slot(which);
  if (from.state == State::kReady) return from.zygote;
  return tl::unexpected(from.error.value_or(Error{{}, "the worker is not ready", ""}));
}

void ZygotePool::lost(WarmUp which, const std::shared_ptr<Zygote>& zygote) {
  std::shared_ptr<Zygote> old;  // ended after the mutex is released
  std::lock_guard lock(mutex_);
  Slot& target = slot(which);
  if (target.zygote != zygote || target.state != State::kReady) return;
  old = std::exchange(target.zygote, nullptr);
  if (++target.losses < kMostLosses) return start(which);
  std::string what = "the worker was lost, again and again";
  if (auto log = old->log_since(0); !log.empty()) what += "\n" + log;
  target.state = State::kFailed;
  target.error = Error{{}, std::move(what), "is the machine out of memory?"};
}

void ZygotePool::worked(WarmUp which) {
  std::lock_guard lock(mutex_);
  slot(which).losses = 0;
}

Expected<wire::Message> ZygotePool::hello(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto is_any = [this](State state) {
    return slot(WarmUp::kEager).state == state || slot(WarmUp::kTorchScript).state == state;
  };
  if (!hello_ && !is_any(State::kStarting) && !is_any(State::kReady) && !is_any(State::kFailed)) {
    start(WarmUp::kEager);
  }
  changed_.wait(lock, stop, [&] { return hello_ || killed_ || !is_any(State::kStarting); });
  if (hello_) return *hello_;
  for (const Slot& each : slots_) {
    if (each.error) return tl::unexpected(*each.error);
  }
  return fail("interrupted");
}

void ZygotePool::kill() {
  std::lock_guard lock(mutex_);
  killed_ = true;
  for (Slot& each : slots_) {
    if (each.zygote) each.zygote->kill();
  }
  changed_.notify_all();
}

}  // namespace instr
