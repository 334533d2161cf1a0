/* wake.h: ends a wait of the main thread, from a signal handler or from another thread. */
#ifndef CLI_WAKE_H
#define CLI_WAKE_H

/* Opens the pipe that the functions below use; ends the tool if that fails. Until then they do nothing. */
void wake_open(void);

/* The descriptor to wait for with poll(2): it becomes readable by wake_up() and stays so until wake_drain(). -1: not
 * open. */
int wake_fd(void);

/* May be called in a signal handler, and by any thread. */
void wake_up(void);
void wake_drain(void);

#endif
