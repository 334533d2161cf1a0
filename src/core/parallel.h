/* core/parallel.h: runs work on several threads and waits until all of it is done. */
#ifndef KITHI_CORE_PARALLEL_H
#define KITHI_CORE_PARALLEL_H

#define KITHI_THREADS_MAX 256

/* Calls work(context, i) for i = 0 … threads - 1 and returns when all calls have returned. Each call has its own
 * thread; call 0 runs on the calling thread. If a thread cannot be created, the calling thread makes its call
 * instead. */
void kithi_parallel(unsigned threads, void (*work)(void *context, unsigned i), void *context);

#endif
