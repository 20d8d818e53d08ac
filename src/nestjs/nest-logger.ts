import { Logger as NestLogger } from '@nestjs/common';
import { PINO_SERIALIZERS } from '../platform/logging/logged-error.js';
import type { Logger } from '../platform/logging/logger.js';
import { formatText } from '../platform/logging/standard-error.js';

/** Logs by Nest's logger, which takes texts. */
export function nestLogger(context: string): Logger {
  const nest = new NestLogger(context);
  const logger = {
    [PINO_SERIALIZERS]: {}, // The text has the stacks of the errors.
    debug: (details: object, message: string) => nest.debug(formatText(message, details)),
    info: (details: object, message: string) => nest.log(formatText(message, details)),
    warn: (details: object, message: string) => nest.warn(formatText(message, details)),
    error: (details: object, message: string) => nest.error(formatText(message, details)),
  };
  return logger;
}
