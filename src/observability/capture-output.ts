import type { Logger } from './logger.ts'

export interface CaptureOutputParts {
  readonly console: Pick<Console, (typeof METHODS)[number]>
  readonly process: Pick<NodeJS.Process, 'on' | 'removeAllListeners'>
  /** Asked each time: the log may change after the start. */
  readonly log: () => Pick<Logger, 'warn'>
}

/**
 * What libraries and Node itself print as text becomes a log line, so that every line is JSON. The text is left out, as
 * it may quote a value; the stack says who printed it.
 */
export function captureOutput({ console, process, log }: CaptureOutputParts): void {
  for (const method of METHODS) {
    console[method] = () => log().warn('library_output', { name: method }, new Error('printed'))
  }
  process.removeAllListeners('warning') // Node's own listener prints
  process.on('warning', (warning) => log().warn('process_warning', { name: warning.name }, warning))
}

const METHODS = ['debug', 'dir', 'error', 'info', 'log', 'trace', 'warn'] as const
