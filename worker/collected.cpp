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
char names[256];

// "6013 12 4"; Callgrind leaves out zeros at the end.
void add(Events& sum, char* line) {
  for (uint64_t& count : sum.of) {
    char* end;
    while (*line == ' ') ++line;
    if (*line < '0' || *line > '9') return;
    count += strtoull(line, &end, 10);
    line = end;
  }
}

// "events: Ir Dr Dw"
void keep_names(const char* line) {
  while (*line == ' ') ++line;
  size_t size = strcspn(line, "\n");
  if (size >= sizeof names) size = 0;
  memcpy(names, line, size);
  while (size > 0 && names[size - 1] == ' ') --size;
  names[size] = '\0';
}

// "events-1: 6013 12 4" for each thread; "events-1-0: ..." is a call that is under way.
Events sum_of_threads(char* text) {
  const char mark[] = "events";
  Events sum{};
  for (char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, mark, strlen(mark)) != 0) continue;
    char* after = line + strlen(mark);
    if (*after == ':') keep_names(after + 1);
    if (*after != '-') continue;
    char* thread_end;
    strtoul(after + 1, &thread_end, 10);
    if (*thread_end == ':') add(sum, thread_end + 1);
  }
  return sum;
}

}  // namespace

Events operator-(const Events& left, const Events& right) {
  Events difference{};
  for (int i = 0; i < kMostEvents; ++i) difference.of[i] = left.of[i] - right.of[i];
  return difference;
}

const char* event_names() { return names; }

Events collected(const char* log) {
  VALGRIND_MONITOR_COMMAND("status internal");
  int fd = open(log, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  ssize_t size = pread(fd, tail.text, sizeof tail.text - 1, tail.begin);
  close(fd);
  if (size <= 0) return {};
  tail.begin += size;
  tail.text[size] = '\0';
  return sum_of_threads(tail.text);
}

}  // namespace instr
