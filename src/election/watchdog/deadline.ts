/** In place of a deadline: nothing is guarded at the moment. */
export const IDLE = 0n;
/** In place of a deadline: the watchdog isn't needed any more. */
export const STOP = -1n;
