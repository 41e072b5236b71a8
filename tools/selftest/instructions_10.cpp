#define PLANTED_INSTRUCTIONS 10
#include "work.inc"
