/* kith/kith.h: includes all headers of libkith. (kith/reader.h, for programs without the library, is separate.) */
#ifndef KITH_KITH_H
#define KITH_KITH_H

#include <kith/base.h>
#include <kith/builder.h>
#include <kith/cpu.h>
#include <kith/exact.h>
#include <kith/file.h>
#include <kith/filter.h>
#include <kith/hash.h>
#include <kith/keys.h>
#include <kith/plan.h>
#include <kith/repair.h>
#include <kith/status.h>
#include <kith/table.h>

#endif
