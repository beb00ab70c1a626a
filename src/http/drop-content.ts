import type { IncomingMessage } from 'node:http'
import { discardBody } from './count-body.ts'

/**
 * Drops what a request occupies, as its answer is written: a client that does not read the answers before it can keep it, with
 * others, from being sent for long.
 */
export function dropContent(req: IncomingMessage & { body?: unknown }): void {
  req.rawHeaders = []
  req.headers = {}
  req.body = undefined
  discardBody(req)
}
