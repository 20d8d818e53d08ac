/** In place of a deadline: no term is guarded at the moment. */
export const IDLE = 0n;
/** In place of a deadline: the thread is to end. */
export const STOP = -1n;
