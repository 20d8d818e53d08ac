const ignore = () => undefined;

/** Takes what is logged, and keeps nothing of it. */
export const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
