import type { ServerResponse } from 'node:http'

/**
 * Sends JSON without the ETag, freshness and charset handling of Express's `res.json`, which no
 * response needs.
 */
export function sendJson(res: ServerResponse, body: unknown): void {
  sendJsonText(res, JSON.stringify(body))
}

export function sendJsonText(res: ServerResponse, text: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(text)
}
