#include "worker/counted/collected.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#include <algorithm>

namespace instr {
namespace {

// The log's new text. Not on the heap, whose state affects the snippet.
struct LogTail {
  off_t begin = 0;
  char text[256 * 1024];
};
LogTail tail;
char names[256];
int name_count = 0;

// The last two columns: the number of system calls, and their time.
constexpr char kSystemCallNames[] = "sysCount sysTime";

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

// "events: Ir Dr Dw sysCount sysTime"
void keep_names(const char* line) {
  while (*line == ' ') ++line;
  size_t size = strcspn(line, "\n");
  if (size >= sizeof names) size = 0;
  memcpy(names, line, size);
  names[size] = '\0';
  if (char* rest = strstr(names, kSystemCallNames)) size = static_cast<size_t>(rest - names);
  while (size > 0 && names[size - 1] == ' ') --size;
  names[size] = '\0';
  name_count = size == 0 ? 0 : 1;
  for (const char* at = names; *at != '\0'; ++at) name_count += *at == ' ';
}

// Removes the columns of system calls, whose time differs from run to run; returns their number.
uint64_t take_system_calls(Events& events) {
  const uint64_t calls = name_count < kMaxEvents ? events.of[name_count] : 0;
  for (int i = name_count; i < kMaxEvents; ++i) events.of[i] = 0;
  return calls;
}

// Returns the text after `mark`, with which the line begins; else null.
char* after(char* line, const char* mark) {
  size_t size = strlen(mark);
  return strncmp(line, mark, size) == 0 ? line + size : nullptr;
}

// "events-1: 6013 12 4" for each thread; "events-1-0: ..." is a call in progress.
Collected parse(char* text) {
  Collected all;
  unsigned long calling_thread = 0;
  for (char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (char* state = after(line, "instrumentation: ")) {
      all.is_known = true;
      all.is_on = strncmp(state, "on", 2) == 0;
    }
    if (char* names_begin = after(line, "events:")) keep_names(names_begin);
    if (char* number = after(line, "part: ")) all.dumps = strtoull(number, nullptr, 10);
    if (char* number = after(line, "current-tid: ")) calling_thread = strtoul(number, nullptr, 10);
    char* thread = after(line, "events-");
    if (thread == nullptr) continue;
    char* thread_end;
    unsigned long number = strtoul(thread, &thread_end, 10);
    if (*thread_end != ':') continue;
    add(all.events, thread_end + 1);
    if (number != calling_thread) add(all.others, thread_end + 1);
  }
  all.system_calls = take_system_calls(all.events);
  take_system_calls(all.others);
  return all;
}

bool is_backwards(const Events& begin, const Events& end) {
  for (int i = 0; i < kMaxEvents; ++i) {
    if (end.of[i] < begin.of[i]) return true;
  }
  return false;
}

}  // namespace

Events operator-(const Events& left, const Events& right) {
  Events difference{};
  for (int i = 0; i < kMaxEvents; ++i) difference.of[i] = left.of[i] - right.of[i];
  return difference;
}

const char* event_names() { return names; }

const char* find_disturbance(const Collected& begin, const Collected& end, uint64_t iterations,
                             bool has_company) {
  static const char kRequested[] =
      "the snippet itself tells Callgrind what to count (CALLGRIND_TOGGLE_COLLECT, "
      "CALLGRIND_ZERO_STATS and the like): remove these requests";
  static const char kPartial[] =
      "Callgrind counted only a part, or more than the statement: the snippet tells Callgrind what "
      "to count (CALLGRIND_TOGGLE_COLLECT), or leaves a signal handler by siglongjmp(), which "
      "Callgrind does not always follow";
  static const char kOtherThread[] =
      "another thread is alive while the statement is measured, one that the setup left behind or "
      "that works for the statement: join it in the setup, or declare threads = [2]: such counts "
      "are shown, but no comparison fails on them";
  const bool is_counted = iterations != 0;
  const bool is_switched = end.is_on != begin.is_on || (is_counted && !end.is_on);
  if (is_switched || end.dumps != begin.dumps || is_backwards(begin.events, end.events)) {
    return kRequested;
  }
  if (has_company) return kOtherThread;
  // A counted loop has at least one instruction for each iteration.
  uint64_t own = (end.events - end.others - (begin.events - begin.others)).ir();
  return is_counted ? (own < iterations ? kPartial : nullptr) : (own != 0 ? kPartial : nullptr);
}

Collected read_collected(const char* log) {
  VALGRIND_MONITOR_COMMAND("status internal");
  int fd = open(log, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {.error = errno};
  constexpr off_t kMaxRead = sizeof tail.text - 1;
  ssize_t size = pread(fd, tail.text, kMaxRead, tail.begin);
  if (size == kMaxRead) {  // the answer is the end of a longer text
    tail.begin = lseek(fd, 0, SEEK_END) - kMaxRead;
    size = pread(fd, tail.text, kMaxRead, tail.begin);
  }
  close(fd);
  if (size <= 0) return {};
  tail.begin += size;
  tail.text[size] = '\0';
  return parse(tail.text);
}

Collected rehearse_reading() {
  static const char kSample[] =
      "instrumentation: on\nexecuted-bbs: 10000\npart: 1\nevents: Ir sysCount sysTime \n"
      "current-tid: 1\nevents-1: 10000 1 10000 \nevents-1-0: 10000 1 10000 \n";
  memcpy(tail.text, kSample, sizeof kSample);
  return parse(tail.text);
}

std::string read_valgrind_words(const std::string& log) {
  constexpr std::size_t kMaxRead = 4 << 20;
  constexpr std::size_t kShown = 2000;
  const int fd = open(log.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text(kMaxRead, '\0');
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  // A panic is explained by the next line; the stacks of all threads follow.
  if (const std::size_t panic = text.find("\nvalgrind: "); panic != text.npos) {
    return text.substr(panic, text.find('\n', text.find('\n', panic + 1) + 1) - panic);
  }
  std::string words;
  std::size_t begin = text.size() > kShown ? text.size() - kShown : 0;
  for (std::size_t next; begin < text.size(); begin = next + 1) {
    next = std::min(text.find('\n', begin), text.size());
    if (text.compare(begin, 2, "==") == 0) words += "\n" + text.substr(begin, next - begin);
  }
  return words;
}

}  // namespace instr
