// Preloaded into an interpreter whose import is counted. import_modules.py calls nice(), which no
// import does, to say where it is: 4n when it begins to import module n, 4n + 1 when that has
// ended, 2 when it begins something that is not to be counted, such as a search, and 3 when that
// has ended. Needs no library, not even the C library.
#include <valgrind/callgrind.h>

namespace {

int uncounted = 1;  // nested parts that are not counted; before the import, all is such a part

void begin_uncounted() {
  if (uncounted++ == 0) CALLGRIND_TOGGLE_COLLECT;
}

void end_uncounted() {
  if (--uncounted == 0) CALLGRIND_TOGGLE_COLLECT;
}

}  // namespace

extern "C" int nice(int event) {
  if ((event & 3) == 2) {
    begin_uncounted();
  } else if ((event & 3) == 3) {
    end_uncounted();
  } else if (uncounted == 0) {
    CALLGRIND_TOGGLE_COLLECT;
    VALGRIND_PRINTF("mark %d\n", event);
    VALGRIND_MONITOR_COMMAND("status internal");
    CALLGRIND_TOGGLE_COLLECT;
  }
  return 0;
}
