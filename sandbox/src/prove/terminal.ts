import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline/promises'

export interface Terminal {
  /** Empty if the input has ended. @throws if `signal` is aborted */
  ask(question: string): Promise<string>
  close(): void
}

export interface TerminalOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  readonly signal: AbortSignal
  /** Ctrl-C at a question: a terminal that is read from sends no signal to the process. */
  onInterrupt(): void
}

export function createTerminal({ input, output, signal, onInterrupt }: TerminalOptions): Terminal {
  let lines: Interface | undefined
  let ended: Promise<string> | undefined

  function open(): Interface {
    const opened = createInterface({ input, output })
    opened.on('SIGINT', onInterrupt)
    ended = once(opened, 'close').then(() => '')
    return opened
  }

  return {
    async ask(question) {
      lines ??= open()
      const answer = await Promise.race([ended, lines.question(question, { signal })])
      return answer?.trim() ?? ''
    },
    close() {
      lines?.close()
    },
  }
}
