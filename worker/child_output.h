// The output of a child: a pipe that its parent empties, of which it keeps the end. A file in
// memory would take as much as the child likes to write. Does not use the heap while the child
// runs: a host's heap must not depend on how much a child printed.
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace instr {

class ChildOutput {
 public:
  ChildOutput() {
    // Bytes. If the system allows fewer, the pipe has the usual 64 KiB.
    constexpr int kCapacity = 1 << 20;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    from_child_ = ends[0];
    to_parent_ = ends[1];
    fcntl(from_child_, F_SETFL, O_NONBLOCK);
    fcntl(to_parent_, F_SETPIPE_SZ, kCapacity);
  }
  ~ChildOutput() {
    if (!is_open()) return;
    close(from_child_);
    close(to_parent_);
  }
  ChildOutput(const ChildOutput&) = delete;
  ChildOutput& operator=(const ChildOutput&) = delete;

  bool is_open() const { return from_child_ >= 0; }

  // Makes the pipe the standard output and error of this process, the child. Leaves open the same
  // descriptors as a file would, whose numbers a snippet sees.
  void become_standard() {
    dup2(to_parent_, 1);
    dup2(to_parent_, 2);
    dup3(to_parent_, from_child_, O_CLOEXEC);
    close(to_parent_);
  }

  // Has a child that nobody empties the pipe of lose what does not fit in, instead of waiting.
  void drop_excess() { fcntl(to_parent_, F_SETFL, O_NONBLOCK); }

  // Takes what the child has printed so far; false if there was nothing.
  bool drain() {
    bool has_printed = false;
    char bytes[16 * 1024];
    for (ssize_t size; (size = read(from_child_, bytes, sizeof bytes)) > 0;) {
      keep(bytes, static_cast<std::size_t>(size));
      has_printed = true;
    }
    return has_printed;
  }

  // The last 4 KiB that were drained.
  std::string text() const { return {end_, size_}; }

 private:
  static constexpr std::size_t kMaxKept = 4096;

  void keep(const char* bytes, std::size_t size) {
    if (size > kMaxKept) {
      bytes += size - kMaxKept;
      size = kMaxKept;
    }
    const std::size_t before = std::min(size_, kMaxKept - size);
    memmove(end_, end_ + size_ - before, before);
    memcpy(end_ + before, bytes, size);
    size_ = before + size;
  }

  int from_child_ = -1;
  int to_parent_ = -1;
  std::size_t size_ = 0;
  char end_[kMaxKept];
};

}  // namespace instr
