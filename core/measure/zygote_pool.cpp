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

const char* zygote_kind(Runtime runtime) {
  return kWarmUpNames[static_cast<std::size_t>(facts_of(runtime).zygote)];
}

ZygotePool::ZygotePool(ZygoteOptions options, std::function<void()> on_change)
    : options_(std::move(options)), on_change_(std::move(on_change)) {}

ZygotePool::~ZygotePool() {
  kill();
  starters_.clear();  // joins
}

void ZygotePool::need(Runtime runtime) {
  std::lock_guard lock(mutex_);
  if (slot(runtime).state == State::kAbsent) start(runtime);
}

void ZygotePool::start(Runtime runtime) {
  Slot& target = slot(runtime);
  target.state = killed_ ? State::kFailed : State::kStarting;
  if (killed_) target.error = Error{{}, "interrupted", ""};
  if (killed_) return;
  starters_.emplace_back([this, runtime] { bring_up(runtime); });
}

Expected<wire::Message> ZygotePool::try_start(Runtime runtime) {
  ZygoteOptions options = options_;
  options.kind = zygote_kind(runtime);
  auto zygote = Zygote::start(options);
  if (!zygote) return tl::unexpected(zygote.error());
  {
    std::lock_guard lock(mutex_);
    if (killed_) return fail("interrupted");
    slot(runtime).zygote = *zygote;
  }
  auto hello = (*zygote)->await_hello(kStartTimeout).and_then(check_hello);
  if (!hello || options.churn == 0) return hello;
  wire::Message churn{"churn", {{"blocks", std::to_string(options.churn)}}};
  if (auto done = (*zygote)->request(churn, kStartTimeout); !done)
    return fail(to_string(done.error()));
  return hello;
}

void ZygotePool::bring_up(Runtime runtime) {
  auto hello = try_start(runtime);
  for (int attempt = 1; !hello && attempt < kStartAttempts; ++attempt) {
    {
      std::lock_guard lock(mutex_);
      if (killed_) break;
    }
    hello = try_start(runtime);
  }
  {
    std::lock_guard lock(mutex_);
    Slot& target = slot(runtime);
    if (hello) {
      target.state = State::kReady;
      if (!hello_) hello_ = *hello;
    } else {
      target.state = State::kFailed;
      target.error = hello.error();
      target.zygote.reset();
    }
  }
  changed_.notify_all();
  on_change_();
}

ZygotePool::State ZygotePool::state(Runtime runtime) const {
  std::lock_guard lock(mutex_);
  return slot(runtime).state;
}

bool ZygotePool::any_is(State state) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [state](const Slot& each) { return each.state == state; });
}

bool ZygotePool::is_starting() const {
  std::lock_guard lock(mutex_);
  return any_is(State::kStarting);
}

Expected<std::shared_ptr<Zygote>> ZygotePool::get(Runtime runtime) const {
  std::lock_guard lock(mutex_);
  const Slot& from = slot(runtime);
  if (from.state == State::kReady) return from.zygote;
  return tl::unexpected(from.error.value_or(Error{{}, "the worker is not ready", ""}));
}

void ZygotePool::lost(Runtime runtime, const std::shared_ptr<Zygote>& zygote) {
  std::shared_ptr<Zygote> old;  // ended after the mutex is released
  std::lock_guard lock(mutex_);
  Slot& target = slot(runtime);
  if (target.zygote != zygote || target.state != State::kReady) return;
  old = std::exchange(target.zygote, nullptr);
  if (++target.losses < kMostLosses) return start(runtime);
  std::string what = "the worker was lost, again and again";
  if (auto log = old->log_since(0); !log.empty()) what += "\n" + log;
  target.state = State::kFailed;
  target.error = Error{{}, std::move(what), "is the machine out of memory?"};
}

void ZygotePool::worked(Runtime runtime) {
  std::lock_guard lock(mutex_);
  slot(runtime).losses = 0;
}

Expected<wire::Message> ZygotePool::hello(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  bool none = std::all_of(slots_.begin(), slots_.end(),
                          [](const Slot& each) { return each.state == State::kAbsent; });
  if (none && !hello_) start(Runtime::kEager);
  changed_.wait(lock, stop, [&] { return hello_ || killed_ || !any_is(State::kStarting); });
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
