#include "worker/collected.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

namespace instr {
namespace {

// What the log has grown by. In place, not from the heap, whose state the snippet sees.
struct LogTail {
  off_t begin = 0;
  char text[256 * 1024];
};
LogTail tail;

// "events-1: 6013" for each thread; "events-1-0: ..." is a call that is under way.
uint64_t sum_of_threads(char* text) {
  const char mark[] = "events-";
  uint64_t sum = 0;
  for (char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, mark, strlen(mark)) != 0) continue;
    char* thread_end;
    strtoul(line + strlen(mark), &thread_end, 10);
    if (*thread_end == ':') sum += strtoull(thread_end + 1, nullptr, 10);
  }
  return sum;
}

}  // namespace

std::string log_path(const std::string& profile_prefix, int pid) {
  return profile_prefix + std::to_string(pid) + ".log";
}

uint64_t collected(const char* log) {
  VALGRIND_MONITOR_COMMAND("status internal");
  int fd = open(log, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t size = pread(fd, tail.text, sizeof tail.text - 1, tail.begin);
  close(fd);
  if (size <= 0) return 0;
  tail.begin += size;
  tail.text[size] = '\0';
  return sum_of_threads(tail.text);
}

}  // namespace instr
