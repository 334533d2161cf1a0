/* core/parallel.h: work in several threads, for a call that comes back when all is done. */
#ifndef KITHI_CORE_PARALLEL_H
#define KITHI_CORE_PARALLEL_H

#define KITHI_THREADS_MAX 256

/* Calls work(context, i) for i = 0 … threads - 1, each in a thread of its own, 0 in the caller's. Where a thread can't
 * be had, the caller does its work as well. */
void kithi_parallel(unsigned threads, void (*work)(void *context, unsigned i), void *context);

#endif
