#define PLANTED_INSTRUCTIONS 1000
#include "work.inc"
