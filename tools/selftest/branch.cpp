#define PLANTED_BRANCH 17
#include "work.inc"
