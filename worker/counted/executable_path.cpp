// Replaces readlink for the program's own path. Some libraries that LibTorch is linked with look
// for their data beside the program (GDCM, via OpenCV, in Debian), and keep its path on the heap.
// The length of that path moved all later allocations, and with them data misses of simulated
// caches by up to 1.5%.
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  const char own[] = "/proc/self/exe";  // a path of the program that has a fixed length
  if (strcmp(path, own) != 0) return syscall(SYS_readlink, path, buffer, size);
  size_t length = strlen(own) < size ? strlen(own) : size;
  memcpy(buffer, own, length);
  return static_cast<ssize_t>(length);
}
