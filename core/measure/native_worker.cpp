#include "core/measure/native_worker.h"

#include <utility>

#include "core/measure/zygote_pool.h"

namespace instr {

namespace {

constexpr std::chrono::minutes kStartTimeout{2};

tl::unexpected<std::string> lost(Loss loss) {
  return tl::unexpected("the worker was lost: " + std::string(to_string(loss)));
}

}  // namespace

NativeWorker::NativeWorker(std::filesystem::path program, PrivateFolder folder,
                           std::shared_ptr<Zygote> zygote, wire::Message hello)
    : program_(std::move(program)),
      folder_(std::move(folder)),
      zygote_(std::move(zygote)),
      hello_(std::move(hello)) {}

Expected<std::unique_ptr<NativeWorker>> NativeWorker::start(const std::filesystem::path& program) {
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  auto zygote =
      Zygote::start({.worker = program, .work_dir = folder->path(), .is_native = true});
  if (!zygote) return tl::unexpected(zygote.error());
  auto hello = (*zygote)->await_hello(kStartTimeout).and_then(check_hello);
  if (!hello) return tl::unexpected(hello.error());
  return std::unique_ptr<NativeWorker>(new NativeWorker(program, *std::move(folder),
                                                        *std::move(zygote), *std::move(hello)));
}

tl::expected<wire::Message, std::string> NativeWorker::ask(
    const std::set<std::filesystem::path>& units, const wire::Message& request,
    std::chrono::milliseconds limit) {
  auto host = Host::fork(zygote_);
  if (!host) return lost(host.error());
  for (const auto& unit : units) {
    auto loaded = (*host)->request(load_request(program_, unit), kStartTimeout);
    if (!loaded) return tl::unexpected(std::string("loading the unit ended the worker"));
    if (loaded->verb != "loaded") return *std::move(loaded);
  }
  auto reply = (*host)->request(request, limit + kStartTimeout);
  if (!reply) return lost(reply.error());
  return *std::move(reply);
}

}  // namespace instr
