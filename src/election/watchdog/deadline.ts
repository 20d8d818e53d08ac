/** Stands for a deadline: the watchdog guards no term at the moment. */
export const IDLE = 0n;
/** Stands for a deadline: the thread is to end. */
export const STOP = -1n;
