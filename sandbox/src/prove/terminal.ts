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
  let hasEnded = false

  function open(): Interface {
    const opened = createInterface({ input, output })
    opened.on('SIGINT', onInterrupt)
    opened.on('close', () => {
      hasEnded = true
    })
    return opened
  }

  return {
    async ask(question) {
      if (hasEnded) return ''
      lines ??= open()
      const ended = once(lines, 'close', { signal }).then(() => '')
      ended.catch(() => undefined) // the question rejects, too
      return (await Promise.race([lines.question(question, { signal }), ended])).trim()
    },
    close() {
      lines?.close()
    },
  }
}
