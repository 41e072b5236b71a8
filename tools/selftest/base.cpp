#include "work.inc"
