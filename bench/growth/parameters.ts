/** Requests in flight in the measurement of connections; fewer than load shedding refuses. */
export const MAX_CONCURRENCY = 512

/** Delay of each response in the measurement of a slow upstream. */
export const UPSTREAM_MS = 200
