#include "memory.h"
#include "record.h"
