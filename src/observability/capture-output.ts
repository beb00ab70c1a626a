import type { Logger } from './logger.ts'

export interface CaptureOutputOptions {
  readonly console: Pick<Console, (typeof METHODS)[number]>
  readonly process: Pick<NodeJS.Process, 'on' | 'removeAllListeners'>
  /** Called for each line: the logger may be replaced after startup. */
  readonly log: () => Pick<Logger, 'warn'>
}

/**
 * Turns output of libraries and warnings of Node into log lines, so that every line is JSON. The
 * text is left out because it may contain a value; the stack shows where it was printed.
 */
export function captureOutput({ console, process, log }: CaptureOutputOptions): void {
  for (const method of METHODS) {
    console[method] = () => log().warn('library_output', { name: method }, new Error('printed'))
  }
  process.removeAllListeners('warning') // Node's own listener prints
  process.on('warning', (warning) => log().warn('process_warning', { name: warning.name }, warning))
}

const METHODS = ['debug', 'dir', 'error', 'info', 'log', 'trace', 'warn'] as const
