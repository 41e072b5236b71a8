#include "core/measure/zygote_pool.h"

#include <algorithm>
#include <utility>

#include "worker/abi.h"

namespace instr {

namespace {

constexpr int kStartAttempts = 2;
constexpr int kMaxLosses = 4;

class OwnRoot : public ZygoteSource {
 public:
  OwnRoot(std::shared_ptr<Root> root, const WorkerOptions& options)
      : root_(std::move(root)), options_(options) {}

  Expected<wire::Message> hello() override { return root_->await_hello(); }

  Expected<std::shared_ptr<WorkerProcess>> zygote(WarmUp which) override {
    return fork_zygote(root_, which, options_);
  }

  void kill() override { root_->kill(); }

 private:
  const std::shared_ptr<Root> root_;
  const WorkerOptions options_;
};

}  // namespace

Expected<wire::Message> check_hello(const wire::Message& hello) {
  if (hello.get("abi", "?") == std::to_string(INSTR_ABI_VERSION)) return hello;
  return fail("the worker has version " + hello.get("abi", "?") + " of the snippet ABI, not " +
                  std::to_string(INSTR_ABI_VERSION),
              "run with --no-cache, so that the worker is built again");
}

WarmUp choose_zygote(const Variant& variant) {
  const bool is_python = variant.language == Language::kPython;
  const bool is_torchscript = is_script(variant.backend);
  if (is_on_cuda(variant)) {
    if (needs_compiler(variant)) return WarmUp::kCompilerCuda;
    if (is_torchscript) {
      return is_python ? WarmUp::kPythonTorchScriptCuda : WarmUp::kTorchScriptCuda;
    }
    return is_python ? WarmUp::kPythonCuda : WarmUp::kCuda;
  }
  if (needs_compiler(variant)) return WarmUp::kCompiler;
  if (is_first_call(variant)) return is_python ? WarmUp::kColdPython : WarmUp::kCold;
  if (is_torchscript) return is_python ? WarmUp::kPythonTorchScript : WarmUp::kTorchScript;
  return is_python ? WarmUp::kPython : WarmUp::kEager;
}

Expected<WorkerOptions> options_for(Language language, WorkerOptions options,
                                    const FindWorker& find_worker) {
  TRY_ASSIGN(options.program, find_worker(language));
  return options;
}

Expected<std::shared_ptr<Root>> start_root(Language language, const WorkerOptions& options,
                                           const FindWorker& find_worker) {
  return options_for(language, options, find_worker).and_then(Root::start);
}

Expected<void> warm_up(WorkerProcess& process, WarmUp which, const WorkerOptions& options) {
  const auto ask = [&process](const wire::Message& request, const char* verb) -> Expected<void> {
    auto reply = process.prepare(request);
    if (reply && reply->verb == verb) return {};
    const std::string how = reply ? reply->get("message") : to_string(reply.error());
    return fail("the worker did not warm up: " + how + "\n" + process.log_since(0));
  };
  wire::Message request{"warm_up", {{"kind", to_string(which)}}};
  if (options.call_paths || instruments_late(which)) request.fields["instrument_late"] = "1";
  TRY(ask(request, "warmed_up"));
  if (options.churn == 0) return {};
  return ask({"churn", {{"blocks", std::to_string(options.churn)}}}, "churned");
}

Expected<std::shared_ptr<WorkerProcess>> fork_zygote(const std::shared_ptr<Root>& root,
                                                     WarmUp which, const WorkerOptions& options) {
  auto forked = WorkerProcess::fork(root);
  if (!forked) return fail(std::string("the worker was lost: ") + to_string(forked.error()));
  std::shared_ptr<WorkerProcess> zygote = *std::move(forked);
  TRY(warm_up(*zygote, which, options));
  return zygote;
}

StartSource own_roots(WorkerOptions options, FindWorker find_worker) {
  return [options = std::move(options), find_worker = std::move(find_worker)](
             Language language) -> Expected<std::shared_ptr<ZygoteSource>> {
    TRY_ASSIGN(auto root, start_root(language, options, find_worker));
    return std::make_shared<OwnRoot>(std::move(root), options);
  };
}

ZygotePool::ZygotePool(StartSource start_source, std::function<void()> on_change)
    : start_source_(std::move(start_source)), on_change_(std::move(on_change)) {}

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

bool ZygotePool::is_killed() const {
  std::lock_guard lock(mutex_);
  return killed_;
}

Expected<wire::Message> ZygotePool::try_to_start(Language language) {
  TRY_ASSIGN(auto started, start_source_(language));
  {
    std::lock_guard lock(mutex_);
    if (killed_) return fail("interrupted");
    source(language).source = started;
  }
  return started->hello().and_then(check_hello);
}

// Attempts a start again if it fails.
template <class Try>
auto ZygotePool::retry(const Try& attempt) const {
  auto started = attempt();
  for (int i = 1; !started && i < kStartAttempts && !is_killed(); ++i) started = attempt();
  return started;
}

// Starts the source if it is absent. Other threads that need it wait.
Expected<std::shared_ptr<ZygoteSource>> ZygotePool::source_for(Language language) {
  std::unique_lock lock(mutex_);
  SourceSlot& slot = source(language);
  changed_.wait(lock, [&] { return killed_ || slot.state != State::kStarting; });
  if (killed_) return fail("interrupted");
  if (slot.state == State::kReady) return slot.source;
  if (slot.state == State::kFailed) return fail(*slot.error);
  slot.state = State::kStarting;
  lock.unlock();
  auto hello = retry([&] { return try_to_start(language); });
  lock.lock();
  slot.state = hello ? State::kReady : State::kFailed;
  if (hello) {
    slot.hello = *std::move(hello);
  } else {
    slot.error = hello.error();
  }
  changed_.notify_all();
  if (slot.error) return fail(*slot.error);
  return slot.source;
}

// Forgets a source that no longer answers, so that another one is started.
void ZygotePool::drop(Language language, const std::shared_ptr<ZygoteSource>& lost) {
  std::shared_ptr<ZygoteSource> old;  // ends after the mutex is released
  std::lock_guard lock(mutex_);
  SourceSlot& slot = source(language);
  if (slot.source != lost || slot.state != State::kReady) return;
  old = std::exchange(slot.source, nullptr);
  slot.state = State::kAbsent;
}

Expected<std::shared_ptr<WorkerProcess>> ZygotePool::try_to_fork(WarmUp which) {
  const Language language = facts_of(which).language;
  TRY_ASSIGN(auto from, source_for(language));
  auto zygote = from->zygote(which);
  if (!zygote) drop(language, from);
  return zygote;
}

void ZygotePool::bring_up(WarmUp which) {
  auto zygote = retry([&] { return try_to_fork(which); });
  {
    std::lock_guard lock(mutex_);
    Slot& target = slot(which);
    target.state = zygote ? State::kReady : State::kFailed;
    if (zygote) {
      target.zygote = *std::move(zygote);
    } else {
      target.error = zygote.error();
    }
  }
  changed_.notify_all();
  on_change_();
}

ZygotePool::State ZygotePool::state(WarmUp which) const {
  std::lock_guard lock(mutex_);
  return slot(which).state;
}

Expected<std::shared_ptr<WorkerProcess>> ZygotePool::get(WarmUp which) const {
  std::lock_guard lock(mutex_);
  const Slot& from = slot(which);
  if (from.state == State::kReady) return from.zygote;
  return fail(from.error.value_or(Error{{}, "the worker is not ready", ""}));
}

bool ZygotePool::lost(WarmUp which, const std::shared_ptr<WorkerProcess>& zygote) {
  std::shared_ptr<WorkerProcess> old;  // ends after the mutex is released
  std::lock_guard lock(mutex_);
  Slot& target = slot(which);
  if (target.zygote != zygote || target.state != State::kReady) return false;
  old = std::exchange(target.zygote, nullptr);
  if (++target.losses < kMaxLosses) {
    start(which);
    return target.state == State::kStarting;
  }
  std::string what = "the worker was lost several times in a row";
  if (auto log = old->log_since(0); !log.empty()) what += "\n" + log;
  target.state = State::kFailed;
  target.error = Error{{}, std::move(what), "is the machine out of memory?"};
  return false;
}

void ZygotePool::worked(WarmUp which) {
  std::lock_guard lock(mutex_);
  slot(which).losses = 0;
}

Language ZygotePool::language_in_use(Language preferred) const {
  Language in_use = preferred;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state == State::kAbsent) continue;
    in_use = kWarmUps[i].language;
    if (in_use == preferred) break;
  }
  return in_use;
}

Expected<wire::Message> ZygotePool::hello(Language preferred, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const Language language = language_in_use(preferred);
  SourceSlot& slot = source(language);
  if (slot.state == State::kAbsent && !killed_) {
    starters_.emplace_back([this, language] { source_for(language); });
  }
  changed_.wait(lock, stop, [&] {
    return killed_ || slot.state == State::kReady || slot.state == State::kFailed;
  });
  if (slot.state == State::kReady) return slot.hello;
  return fail(slot.error.value_or(Error{{}, "interrupted", ""}));
}

void ZygotePool::kill() {
  std::lock_guard lock(mutex_);
  killed_ = true;
  for (SourceSlot& each : sources_) {
    if (each.source) each.source->kill();
  }
  changed_.notify_all();
}

}  // namespace instr
