const ignore = () => undefined;

/** A logger that drops everything. */
export const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
