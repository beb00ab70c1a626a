import type { ServerResponse } from 'node:http'

/** Answers with JSON. What Express's `json` does beside, charsets, ETags and freshness, no answer of ours needs. */
export function sendJson(res: ServerResponse, body: unknown): void {
  sendJsonText(res, JSON.stringify(body))
}

/** The same with what is JSON already. */
export function sendJsonText(res: ServerResponse, text: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(text)
}
