// Fuzzes the wire format between coordinator and worker.
#include "tests/fuzz/fuzz.h"
#include "worker/wire.h"

namespace instr {
namespace {

void fuzz(std::string_view text) {
  const std::string line = wire::escape(text);
  require(line.find_first_of("\t\n\r=") == std::string::npos, "an escaped value is one field");
  require(wire::unescape(line) == text, "a value survives the wire");
  const auto message = wire::decode(text.substr(0, text.find('\n')));
  if (!message) return;
  const std::string encoded = wire::encode(*message);
  require(encoded.find('\n') == encoded.size() - 1, "a message is one line");
  const auto again = wire::decode(std::string_view(encoded).substr(0, encoded.size() - 1));
  require(again && again->verb == message->verb && again->fields == message->fields,
          "a message survives the wire");
}

}  // namespace
}  // namespace instr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  instr::fuzz(instr::text_of(data, size));
  return 0;
}
