import { Trouble } from './trouble.js'

/** What this page asks of the broker: plain `fetch`. The two HttpOnly cookies go along by themselves. */
export async function call<Answer>(
  method: string,
  url: string,
  body?: object,
  more?: object,
): Promise<Answer> {
  const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...more }
  const request = { method, headers, body: body ? JSON.stringify(body) : null }
  const response = await fetch(url, request).catch(() => Response.error()) // no connection: the status is 0
  // what is no JSON comes from a proxy in between: the status says enough
  const answer = response.status === 204 ? {} : await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  throw new Trouble(response, answer)
}
