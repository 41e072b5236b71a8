#define PLANTED_ALLOCATIONS 1
#include "work.inc"
