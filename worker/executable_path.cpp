// Takes the place of readlink for one name: some of what LibTorch is linked with looks for its data
// beside the program (GDCM, by way of OpenCV, in Debian), and keeps the program's path on the heap
// from before main() on. How long that path is moved all that was allocated after it, and with it
// data misses of simulated caches by up to 1.5%.
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  const char own[] = "/proc/self/exe";  // names the program as well, with one length
  if (strcmp(path, own) != 0) return syscall(SYS_readlink, path, buffer, size);
  size_t length = strlen(own) < size ? strlen(own) : size;
  memcpy(buffer, own, length);
  return static_cast<ssize_t>(length);
}
