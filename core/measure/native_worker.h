// The worker that runs without Valgrind: started once, and asked in a fresh process each time.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/measure/worker_client.h"
#include "core/values/measurement.h"

namespace instr {

// Told by what measures with it.
struct NativeEvents {
  std::function<void(const std::string& key)> on_start;
  std::function<void(Measurement)> on_done;
};

class NativeWorker {
 public:
  // Starts the program that build_worker made of kNative, and waits until it is ready.
  static Expected<std::unique_ptr<NativeWorker>> start(const std::filesystem::path& program);

  // What it said of itself.
  const wire::Message& hello() const { return hello_; }

  // The answer of a process that it forks for this and that loads these units first; or what was lost.
  // `limit` is what the answer may take; starting and loading may take their time beside it.
  tl::expected<wire::Message, std::string> ask(const std::set<std::filesystem::path>& units,
                                               const wire::Message& request,
                                               std::chrono::milliseconds limit);

  // From any thread: ends it and what it forked, for good.
  void kill() { zygote_->kill(); }

 private:
  NativeWorker(std::filesystem::path program, PrivateFolder folder, std::shared_ptr<Zygote> zygote,
               wire::Message hello);

  const std::filesystem::path program_;
  const PrivateFolder folder_;
  std::shared_ptr<Zygote> zygote_;
  wire::Message hello_;
};

}  // namespace instr
