/* cmocka, with what it wants included before. */
#ifndef LANDSPEED_CHECK_H
#define LANDSPEED_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
