import type { IncomingMessage } from 'node:http'

/** Answers to a proxy, which looks at the status and the headers alone: neither they nor their errors have a body. */
const withoutBody = new WeakSet<IncomingMessage>()

export function answerWithoutBody(req: IncomingMessage): void {
  withoutBody.add(req)
}

export function isAnsweredWithoutBody(req: IncomingMessage): boolean {
  return withoutBody.has(req)
}
