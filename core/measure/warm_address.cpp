#include "core/measure/warm_address.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/read_file.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

constexpr int kBacklog = 64;

std::string name_prefix() { return fmt::format("instr_bench-warm-{}-", ::geteuid()); }

// Identifies this program, which may have been rebuilt, and its namespaces, outside which numbers
// of processes and paths mean something else.
std::string identify_program() {
  std::error_code ignored;
  struct stat program {};
  ::stat("/proc/self/exe", &program);
  return fmt::format("{} {} {} {} {}", fs::read_symlink("/proc/self/ns/mnt", ignored).string(),
                     fs::read_symlink("/proc/self/ns/pid", ignored).string(), program.st_dev,
                     program.st_ino, program.st_ctim.tv_sec);
}

// Returns the abstract name, and its size: it is not terminated.
std::pair<sockaddr_un, socklen_t> socket_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

Fd make_socket() { return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

std::string encode(const WarmPurpose& purpose) {
  const WorkerOptions& options = purpose.options;
  const WorkerProgram& program = options.program;
  std::string word =
      wire::encode({"warm",
                    {{"worker", program.file.string()},
                     {"command", fmt::format("{}", fmt::join(program.command, "\n"))},
                     {"environment", fmt::format("{}", fmt::join(program.environment, "\n"))},
                     {"folder", program.working_directory.string()},
                     {"valgrind", options.valgrind.string()},
                     {"valgrind_tools", options.valgrind_tools.string()},
                     {"language", to_string(purpose.language)},
                     {"cache_sim", options.simulation.cache ? "1" : "0"},
                     {"branch_sim", options.simulation.branch ? "1" : "0"},
                     {"cores", fmt::format("{}", fmt::join(usable_cores(), " "))}}});
  word.pop_back();
  return word;
}

Expected<WarmPurpose> parse_purpose(const std::string& word) {
  const auto message = wire::decode(word);
  const auto language = find_language(message ? message->get("language") : "");
  if (!message || message->verb != "warm" || !language)
    return fail("malformed purpose of a warm worker: '" + word + "'");
  WorkerOptions options;
  options.program = {message->get("worker"), to_lines(message->get("command")),
                     to_lines(message->get("environment")), message->get("folder")};
  options.valgrind = message->get("valgrind");
  options.valgrind_tools = message->get("valgrind_tools");
  options.simulation = {message->get("cache_sim") == "1", message->get("branch_sim") == "1"};
  return WarmPurpose{*language, std::move(options)};
}

std::string warm_address(const std::string& word) {
  return name_prefix() + content_hash(word + "\n" + identify_program());
}

std::vector<std::string> warm_addresses() {
  std::istringstream lines(read_file("/proc/net/unix", kMaxTextBytes).value_or(""));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("@" + name_prefix());
    if (at != std::string::npos) names.push_back(line.substr(at + 1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // connections have it, too
  return names;
}

Expected<Fd> listen_at(const std::string& address) {
  Fd socket = make_socket();
  const auto [where, size] = socket_address(address);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return fail(std::string("cannot listen: ") + std::strerror(errno));
  }
  return socket;
}

std::optional<Link> connect_to(const std::string& address) {
  Fd socket = make_socket();
  const auto [where, size] = socket_address(address);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0) {
    return std::nullopt;
  }
  if (peer_user(socket.get()) != ::geteuid()) return std::nullopt;
  return Link(std::move(socket));
}

std::optional<uid_t> peer_user(int connection) {
  ucred other{};
  socklen_t size = sizeof other;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return std::nullopt;
  return other.uid;
}

}  // namespace instr
