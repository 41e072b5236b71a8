#include "worker/counted/instrumentation.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <valgrind/callgrind.h>

namespace instr {
namespace {

bool is_on = false;

// Discards the translations of an object's procedure linkage table, which linkers put behind the
// function DT_INIT.
int discard_linkage(dl_phdr_info* info, size_t, void*) {
  constexpr size_t kEntry = 2 * 16;  // bytes: some linkers make a second table
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    ElfW(Addr) begin = 0;
    size_t size = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_INIT) begin = entry->d_un.d_ptr;
      if (entry->d_tag == DT_PLTRELSZ) size = entry->d_un.d_val / sizeof(ElfW(Rela)) * kEntry;
    }
    if (begin != 0 && size != 0) VALGRIND_DISCARD_TRANSLATIONS(info->dlpi_addr + begin, size);
  }
  return 0;
}

// Valgrind discards a translation in time proportional to the number of others that jump to the
// same one, as hundreds of thousands do to a large library's linkage table. So these are discarded
// first, which takes a tenth of the time.
void discard_targets() { dl_iterate_phdr(discard_linkage, nullptr); }

}  // namespace

void start_instrumentation() {
  if (is_on) return;
  discard_targets();
  CALLGRIND_START_INSTRUMENTATION;
  is_on = true;
}

void stop_instrumentation() {
  if (!is_on) return;
  discard_targets();
  CALLGRIND_STOP_INSTRUMENTATION;
  is_on = false;
}

}  // namespace instr
