#include "worker/counted/process_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace instr {
namespace {

// "VmData:	  123 kB"
uint64_t read_field(const char* status, const char* name) {
  const char* line = strstr(status, name);
  return line == nullptr ? 0 : strtoull(line + strlen(name), nullptr, 10) * 1024;
}

}  // namespace

uint64_t memory_taken_by(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[4096];
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  return read_field(text, "\nVmData:") + read_field(text, "\nRssShmem:");
}

}  // namespace instr
