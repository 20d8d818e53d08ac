import { SILENT } from './silent-logger.mjs';

/** A logger, and its lines: the fields of each, with its level and message. */
export function recordingLogger() {
  const lines: { level: string; message: string; [field: string]: unknown }[] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void lines.push({ ...fields, level, message });
  return {
    lines,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
  };
}

/** A logger, and the messages of its warnings. */
export function loggerOfWarnings() {
  const warnings: string[] = [];
  const warn = (_: object, message: string) => void warnings.push(message);
  return { warnings, logger: { ...SILENT, warn } };
}
