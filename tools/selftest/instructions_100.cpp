#define PLANTED_INSTRUCTIONS 100
#include "work.inc"
